"""Log-mel spectrogram of one channel, on the signal's device and differentiable."""

import torch
import torchaudio.functional
from torch import Tensor, nn


class LogMel(nn.Module):
    """Slaney mel spectrogram in dB re 1 µV², floor -100 dB.

    Parameters
    ----------
    bank_sfreq : float
        Rate in Hz for which the filters are laid out.
    n_fft, hop : int
        Samples of the Hann window and between frames; frames are centred, the ends reflected.
    n_mels : int
        Filters between 0 and `fmax`.
    fmax : float, optional
        Hz, half of `bank_sfreq` unless given.

    Notes
    -----
    `forward` maps `(batch, n_times)` to `(batch, 1 + n_times // hop, n_mels)`.
    """

    bank: Tensor
    window: Tensor

    def __init__(self, bank_sfreq: float, n_fft: int, hop: int, n_mels: int, fmax: float | None = None) -> None:
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        top = bank_sfreq / 2 if fmax is None else fmax
        bank = torchaudio.functional.melscale_fbanks(
            n_fft // 2 + 1, 0.0, top, n_mels, round(bank_sfreq), norm="slaney", mel_scale="slaney"
        )
        self.register_buffer("bank", bank, persistent=False)
        self.register_buffer("window", torch.hann_window(n_fft), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        # in half precision the power of a large artifact overflows
        with torch.autocast(x.device.type, enabled=False):
            spectrum = torch.stft(x, self.n_fft, self.hop, window=self.window, pad_mode="reflect", return_complex=True)
            power = spectrum.real.square() + spectrum.imag.square()
            return 10 * (power.mT @ self.bank).clamp(min=1e-10).log10()
