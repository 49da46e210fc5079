"""A tiny tree in the dialect of the HUP data set (ds004100): labels in ``status_description``, an id with a blank behind it."""

from pathlib import Path

from tests.data.originals import write_json, write_signal, write_tsv

HEADER = "name type units low_cutoff high_cutoff description sampling_frequency status status_description"
EVENTS = "onset duration trial_type value sample"


def write_hup(root: Path) -> Path:
    """HUP151 with an interictal and an ictal run that differ in one label; HUP132 in participants.tsv only."""
    write_tsv(
        root / "participants.tsv",
        "participant_id age sex hand outcome engel therapy implant target lesion_status age_onset",
        [
            "sub-HUP151_ 33 M R F 2A ABLATION SEEG MFL NON-LESIONAL 6",
            "sub-HUP132 47 F n/a F 3A ABLATION SEEG TEMPORAL n/a 25",
        ],
        crlf=True,
    )
    folder = root / "sub-HUP151/ses-presurgery/ieeg"
    common = "SEEG µV 0.0 256.0 StereoEEG"
    for task, rate, last in (("interictal", "512", "n/a"), ("ictal", "512.0", "soz")):
        channels = write_tsv(
            folder / f"sub-HUP151_ses-presurgery_task-{task}_acq-seeg_run-01_channels.tsv",
            HEADER,
            [
                f"C3 {common} {rate} bad n/a",
                f"EEG_EKG_01-Ref {common} {rate} good n/a",
                f"LOC {common} {rate} bad n/a",
                f"LA01 {common} {rate} good soz",
                f"LA02 {common} {rate} good resect",
                f'LA03 {common} {rate} bad "resect,soz"',
                f"LA04 {common} {rate} good n/a",
                f"LA05 {common} {rate} good {last}",
            ],
            crlf=task == "ictal",
        )
        write_json(channels, 512, 4)
        write_signal(channels, ".edf", 512, 4)
    write_tsv(
        folder / channels.name.replace("_channels", "_events"),
        EVENTS,
        ["120.0 0.0 sz_onset 2 61440", "317.5 0.0 sz_offset 1 162560"],
        bom=True,
    )
    return root
