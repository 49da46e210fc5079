"""A tiny tree in the dialect of the Zurich HFO data set (ds003498): BOM, no task entity, events of other electrode names."""

from pathlib import Path

from tests.data.originals import write_json, write_signal, write_tsv

HEADER = "name type units low_cutoff high_cutoff description sampling_frequency status status_description"


def write_zurich(root: Path) -> Path:
    """sub-01 with signal, sub-02 without, whose events name HL and EC-less EL for the channels AHL and ECL."""
    write_tsv(
        root / "participants.tsv",
        "participant_id age sex hand epilepsy ilae nights outcome months_follow_up lesion",
        ["sub-01 n/a n/a n/a TLE 1 4 S 12 1", "sub-02 33 M n/a TLE 5 2 F 29 1"],
        bom=True,
    )
    common = "ECOG V 0.0 1000.0 Electrocorticography 2000.0 good n/a"
    for subject, run, names in (
        ("01", "08", ("PR1", "PR2", "PR3")),
        ("02", "06", ("AHL1", "AHL2", "ECL1", "ECL2", "AL1", "AL2")),
    ):
        folder = root / f"sub-{subject}/ses-interictalsleep/ieeg"
        stem = f"sub-{subject}_ses-interictalsleep_run-{run}"
        channels = write_tsv(folder / f"{stem}_channels.tsv", HEADER, [f"{name} {common}" for name in names], bom=True)
        write_json(channels, 2000, 299.9995, 50.0)
        if subject == "01":
            write_signal(channels, ".vhdr", 2000, 2)
    write_events(
        folder / f"{stem}_events.tsv",
        ["0.05 0.07 ripple_HL1-2 1 100", "0.06 0.02 fr_EL1-2 2 120", "0.06 0.01 frandr_AL1-2 3 120"],
    )
    return root


def write_events(file: Path, rows: list[str]) -> None:
    """An events.tsv; trial_type keeps its underscore."""
    text = "\n".join(["onset\tduration\ttrial_type\tvalue\tsample", *("\t".join(row.split()) for row in rows)])
    file.write_bytes((text + "\n").encode("utf-8-sig"))
