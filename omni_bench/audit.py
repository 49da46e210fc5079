"""`python -m omni_bench.audit`: published numbers that do not agree, recomputed from published numbers."""

from pathlib import Path

from omegaconf import DictConfig

from omni_bench.cli import main_of

USAGE = """
python -m omni_bench.audit                       published numbers recomputed; writes outputs/audit.md
python -m omni_bench.audit to=docs/audit.md      the page of the documentation
"""


def _audit(cfg: DictConfig) -> None:
    from omni_bench.files import write_atomically
    from omni_bench.results.audit import audit
    from omni_bench.results.audit_page import audit_page
    from omni_bench.results.console import print_audit

    findings, file = audit(), Path(cfg.to).expanduser()
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, audit_page(findings))
    print_audit(findings, file)


main = main_of(_audit, "audit", USAGE)

if __name__ == "__main__":
    main()
