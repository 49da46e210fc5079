"""A tiny tree in the dialect of Fragility (ds003029): odd rates, free event wordings, sometimes no status_description."""

from pathlib import Path

from tests.data.originals import write_json, write_signal, write_tsv

HEADER = "name type units low_cutoff high_cutoff description sampling_frequency status"
EVENTS = "onset duration trial_type value sample"


def write_fragility(root: Path) -> Path:
    """pt01 (signal, in SourceSink as pt1), jh104 (push button only) and ummc001 (no resection)."""
    write_tsv(
        root / "participants.tsv",
        "participant_id age sex hand outcome engel_score ilae_score date_follow_up ethnicity years_follow_up site",
        [
            "sub-pt01 30.0 F R S 1.0 2.0 n/a 0.0 3.0 NIH",
            "sub-jh104 n/a n/a n/a F 3.0 1.0 n/a n/a 1.0 JHH",
            "sub-ummc001 23.0 M R NR -1.0 -1.0 n/a n/a 7.0 UMMC",
        ],
    )
    marks = {
        "pt01": [
            "0 0 +0.000000 1 0",
            "75.95 0 AD1-3_onset 3 75950",
            "90 0 clinical_onset 4 90000",
            "161.82 0 offset 5 161820",
        ],
        "jh104": [
            "0 0 Segment:_REC_START_REC_EEG 1 0",
            "59 0 SZ_EVENT_#_(PB_SZ) 2 59000",
            "60 0 *_poss_r_onset 3 60000",
        ],
        "ummc001": ["31.0 0 sz_onset 1 31000", "133.0 0 sz_offset 2 133000"],
    }
    for subject, rows in marks.items():
        rate = "249.85355222464145" if subject == "ummc001" else "1000.0"
        common = f"ECOG n/a 0.0 500.0 Electrocorticography {rate} good"
        stem = f"sub-{subject}/ses-presurgery/ieeg/sub-{subject}_ses-presurgery_task-ictal_acq-ecog_run-01"
        channels = write_tsv(
            root / f"{stem}_channels.tsv",
            HEADER if subject == "pt01" else f"{HEADER} status_description",
            [
                row if subject == "pt01" else f"{row} n/a"
                for row in (f"AD1 {common}", f"AD2 {common}", f"EKG1 MISC {common[5:]}")
            ],
        )
        write_json(channels, float(rate), 181.2)
        if subject == "pt01":
            write_signal(channels, ".vhdr", 1000, 2)
        write_tsv(root / f"{stem}_events.tsv", EVENTS, rows)
    return root
