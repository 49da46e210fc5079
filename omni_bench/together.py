"""Several runs whose linear heads train at once."""

import json
import time
from typing import Any

from omegaconf import DictConfig

from omni_bench.modules.heads import fit_together
from omni_bench.modules.probe import LinearProbe
from omni_bench.pipeline import Story, tell
from omni_bench.steps import open_data, plain


class Together:
    """Linear probes that are begun one by one, fitted at once, and finished one by one.

    Each is told by `omni_bench.pipeline.tell`, so its run directory is what a run alone leaves. The dataset is opened once.
    """

    def __init__(self) -> None:
        self._waiting: dict[int, tuple[Story, LinearProbe, float]] = {}
        self._results: dict[int, dict[str, Any]] = {}
        self._opened: tuple[str, Any] = ("", None)
        self._failure: Exception | None = None
        self._share = 0.0

    def begin(self, number: int, cfg: DictConfig) -> None:
        """Prepare a run's data and embed its windows; a run that is already done is recognised."""
        story = tell(cfg, self._open_data)
        try:
            learner, data = next(story)
        except StopIteration as end:
            self._results[number] = end.value
            return
        start = time.perf_counter()
        try:
            learner.embedded(data)
        except Exception as error:
            story.throw(error)
        self._waiting[number] = story, learner, time.perf_counter() - start

    def fit(self) -> None:
        """Train what was begun; a failure is told to every run by `finish`."""
        learners = [learner for _, learner, _ in self._waiting.values()]
        start = time.perf_counter()
        try:
            fit_together(learners)
        except Exception as error:
            self._failure = error
        self._share = (time.perf_counter() - start) / max(1, len(learners))

    def finish(self, number: int) -> dict[str, Any]:
        """Predict and evaluate a run that was begun under this number.

        Returns
        -------
        The content of ``result.json``.
        """
        if number not in self._results:
            story, _, embedding_s = self._waiting.pop(number)
            try:
                if self._failure is None:
                    story.send(embedding_s + self._share)
                else:
                    story.throw(self._failure)
            except StopIteration as end:
                self._results[number] = end.value
        return self._results[number]

    def _open_data(self, cfg: DictConfig) -> Any:
        parts = [plain(cfg.dataset), plain(cfg.task), plain(cfg.paths), cfg.on_error]
        key = json.dumps(parts, sort_keys=True, default=str)
        if self._opened[0] != key:
            self._opened = key, open_data(cfg)
        return self._opened[1]
