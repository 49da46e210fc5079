"""Changes to training windows that leave their class as it is."""

import numpy as np
import torch
from torch import Tensor


def time_reversed(x: Tensor, samples: Tensor, share: float, seed: int, epoch: int) -> Tensor:
    """Windows ``(batch, n_chans, n_times)`` of which a random ``share`` runs backwards.

    Whether a window does is drawn from seed, epoch and the window alone, so every class is treated alike, and neither the
    order of windows nor a resumed run changes it.

    Parameters
    ----------
    samples
        Position of each window in the training table, ``(batch,)``.
    """
    draws = [np.random.default_rng([seed, epoch, int(i)]).random() for i in samples]
    backwards = torch.tensor(draws, device=x.device) < share
    return torch.where(backwards[:, None, None], x.flip(-1), x)
