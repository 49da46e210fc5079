"""A tiny tree in the dialect of SourceSink (ds003876): marks without ``no``, columns that come and go, state in the task."""

from pathlib import Path

from tests.data.originals import write_json, write_signal, write_tsv

HEADER = "name type units low_cutoff high_cutoff description sampling_frequency status status_description"


def write_sourcesink(root: Path) -> Path:
    """pt2 awake (signal) and asleep (none) with resected channels, rns002 without the column rz, kumc1 without data."""
    write_tsv(
        root / "participants.tsv",
        "participant_id age sex hand outcome engel_score ilae_score ethnicity years_follow_up site",
        [
            "sub-pt2 28.0 F R S 1 1.0 1 3 NIH",
            "sub-rns002 36.0 F R F 3 n/a n/a 27_MOMTHS MIAMI",
            "sub-kumc1 24.0 F n/a F 2 1.0 n/a n/a KUMC",
        ],
        bom=True,
    )
    common = "ECOG µV 0.0 500.0 Electrocorticography 1000.0"
    folder = root / "sub-pt2/ses-extraoperative/ieeg"
    for state, second in (("awake", "n/a"), ("asleep", "yes")):
        channels = write_tsv(
            folder / f"sub-pt2_ses-extraoperative_task-interictal{state}_run-01_channels.tsv",
            f"{HEADER} soz rz",
            [
                f"G1 {common} good n/a yes yes",
                f"G2 {common} good n/a {second} n/a",
                f"G3 {common} good White_Matter n/a n/a",
                f"EKG1 {common} bad n/a n/a n/a",
                f"N/A {common} bad n/a n/a n/a",
            ],
            bom=True,
        )
        write_json(channels, 1000, 62.5)
        if state == "awake":
            write_signal(channels, ".edf", 1000, 4)
    channels = write_tsv(
        root / "sub-rns002/ses-extraoperative/ieeg/sub-rns002_ses-extraoperative_task-interictal_run-01_channels.tsv",
        f"{HEADER} soz epz",
        [
            f"LA1 {common.replace('ECOG', 'SEEG')} good n/a yes n/a",
            f"LA2 {common.replace('ECOG', 'SEEG')} bad n/a n/a yes",
        ],
        bom=True,
    )
    write_json(channels, 999.4121105232217, 47.15, 60.0)
    return root
