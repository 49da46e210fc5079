"""A tiny tree in the dialect of Open iEEG (ds005398): CRLF participants, numbers as 0 and 0.0, ``bad`` beside ``status``."""

from pathlib import Path

from tests.data.originals import write_json, write_signal, write_tsv

HEADER = (
    "name type units low_cutoff high_cutoff description sampling_frequency status status_description "
    "label side soz bad resection type_y non-epileptic"
)


def write_openieeg(root: Path) -> Path:
    """Detroit001 (signal), UCLA42 (no signal, 200 Hz, not operated) and Detroit009 (participants.tsv only)."""
    write_tsv(
        root / "participants.tsv",
        "participant_id methods sampling_frequency age sex resection Engel_Class1 pathology",
        ["sub-Detroit001 1 1000 12 1 1 1 4", "sub-UCLA42 0 2000 8 0 0 n/a n/a", "sub-Detroit009 1 1000 3 0 1 0 2"],
        crlf=True,
    )
    common = "ECOG µV 0.0 500.0 Electrocorticography 1000.0 good n/a"
    channels = write_tsv(
        root / "sub-Detroit001/ses-01/ieeg/sub-Detroit001_ses-01_task-sleep_channels.tsv",
        HEADER,
        [
            f"A1-AV {common} fusiform L 0 0 1 s n/a",
            f"A2-AV {common} fusiform L 1.0 0.0 1.0 s n/a",
            f"A3-AV {common} n/a Lt n/a 1 n/a s 1.0",
            f"A4-AV {common} WM Lt 0.0 n/a 0.0 d 1.0",
        ],
    )
    write_json(channels, 1000, 4, "n/a")
    write_signal(channels, ".edf", 1000, 4)
    common = "SEEG µV 0.0 100.0 StereoEEG 200.0 good n/a Hippocampus R"
    channels = write_tsv(
        root / "sub-UCLA42/ses-01/ieeg/sub-UCLA42_ses-01_task-sleep_channels.tsv",
        HEADER,
        [
            f"POL_G1 {common} 0 0 n/a d n/a",
            f"G2-Ref {common} 1 0 n/a d n/a",
            f"LAH1-LAH2 {common} 0 0 n/a d n/a",
            f"EEG_F3-Ref {common} 0 0 n/a d n/a",
        ],
    )
    write_json(channels, 200, 3899.995, "n/a")
    return root
