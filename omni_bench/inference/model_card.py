"""The card of an exported model: what it does, on what, how well, and what it is not for."""

from typing import Any

from omni_bench.results.marks import marks_of
from omni_bench.results.markup import markdown_table
from omni_bench.results.page import metric_name, number

LIMITS = (
    "Research use only: it is no medical device, and no output may guide the treatment of a patient.",
    "Trained and tested on the data named above alone; other hospitals, electrodes, amplifiers and ages may differ.",
    "Probabilities are not calibrated to any other population.",
)


def model_card(config: dict[str, Any], record: dict[str, Any]) -> str:
    """README.md of an export.

    Parameters
    ----------
    config, record
        As they are published.
    """
    task, model, dataset = config["task"], config["model"], config["dataset"]
    marks = [f"**{mark.name}**: {mark.why}" for mark in marks_of(record)]
    parts = [
        "---\nlibrary_name: omni_bench\nlicense: other\ntags: [eeg]\n---",
        f"# {model.get('title') or model['name']}: {task.get('title') or task['name']}",
        "\n".join(f"> {line}  " for line in (LIMITS[0], *marks)),
        "## Use\n\n    python -m omni_bench.predict checkpoint=FOLDER recording=FILE\n\n"
        "`model.safetensors` holds plain tensors; `sha256sum -c SHA256SUMS` checks the files.",
        "## Task\n\n" + _facts(_task(config, record)),
        "## Training data\n\n" + _facts(_data(config)) + "\n" + _counts(record["counts"]),
        "## Results\n\nTest split, 95 % intervals by bootstrap.\n\n" + _metrics(record),
        "## Limits\n\n" + "\n".join(f"- {line}" for line in LIMITS),
        "## Licence\n\n"
        + _facts({"Network": model.get("licence"), "Training data": dataset.get("licence")})
        + "\nWhoever passes the weights on must see that the licence of the training data allows it.",
        "## Provenance\n\n" + _facts(_provenance(record)),
    ]
    if model.get("citation"):
        parts.append(f"## Citation\n\n{model['citation']}")
    return "\n\n".join(parts) + "\n"


def _facts(facts: dict[str, Any]) -> str:
    rows = [[name, str(value)] for name, value in facts.items() if value not in (None, "")]
    return markdown_table(["", ""], rows, [False, False])


def _task(config: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    task, window, cut = config["task"], record["window"], record.get("threshold")
    channels = window["ch_names"]
    return {
        "Task": f"{record['task']} v{record['task_version']}, {task['kind']}",
        "Outputs": ", ".join(task["outputs"]),
        "Input": f"{window['n_times']} samples at {window['sfreq']:g} Hz, microvolts",
        "Channels": "one at a time" if channels is None else f"{len(channels)}: {', '.join(channels)}",
        "Threshold": f"{number(cut['value'])}, rule {cut['rule']}" if cut else None,
        "Adaptation": record["adaptation"],
        "Parameters": f"{record['parameters']:,}" if record.get("parameters") else None,
    }


def _data(config: dict[str, Any]) -> dict[str, Any]:
    dataset = config["dataset"]
    return {"Dataset": dataset.get("title") or dataset["name"], "Protocol": config["protocol"]["name"]} | {
        "Citation": dataset.get("citation")
    }


def _counts(counts: dict[str, Any]) -> str:
    names = ("patients", "recordings", "units")
    rows = [[split, *(f"{own[name]:,}" for name in names)] for split, own in counts.items()]
    return markdown_table(["split", *names], rows, [False, True, True, True])


def _metrics(record: dict[str, Any]) -> str:
    rows = []
    for name, metric in record["metrics"].items():
        low, high = number(metric["ci_low"]), number(metric["ci_high"])
        interval = "" if "–" in (low, high) else f"{low} to {high}"
        title = (
            f"baseline: {metric_name(name.removeprefix('baseline_'))}"
            if name.startswith("baseline_")
            else metric_name(name)
        )
        rows.append([title, number(metric["value"]), interval, f"{metric['n']:,}"])
    return markdown_table(["metric", "value", "95 % interval", "n"], rows, [False, True, True, True])


def _provenance(record: dict[str, Any]) -> dict[str, Any]:
    weights = record.get("weights") or {}
    return {
        "Run": record["run_id"],
        "Configuration hash": record["config_hash"],
        "Seed": record["seed"],
        "Start weights": weights.get("source"),
        "omni_bench": record["versions"].get("omni_bench"),
        "Git revision": record.get("git_revision"),
    }
