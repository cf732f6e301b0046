"""Predictors of the durations of kernels and copies, trained on profiles.

Models are those of scikit-learn, which is imported when the first one is trained: linear
regression, the mean of the five nearest neighbours, support vectors, and approximate nearest
neighbours (Q. Chen, M. Guo, Springer 2017, section 8.7). Readings: docs/sources/accelerators.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from simsched.workload.accelerator_programs import BATCH, CRITICAL, Profile, profile
from simsched.workload.graph import FloatArray, TaskGraph, Workload

PREDICTORS = ("lr_knn", "lr", "knn", "svm", "ann")
NEIGHBOURS = 5
TRAINING_SHARE = 0.9
SEARCHED_SHARE = 0.1  #: of the samples, by approximate nearest neighbours
HARMLESS_S = 2e-3  #: mispredictions of shorter tasks do no harm


@dataclass(frozen=True, eq=False)
class Predictor:
    """A trained model."""

    name: str  # which model it is
    model: Any  # the model of scikit-learn
    error: float  # mean relative error of the samples that were held out
    long_error: float  # the same for samples of 2 ms and more; NaN if there are none

    def seconds(self, features: FloatArray) -> FloatArray:
        """Return predicted durations, not below 0."""
        return np.maximum(np.asarray(self.model.predict(features), np.float64), 0.0)


@cache
def trained(predictor: str, task_class: str, reading: int = 0) -> Predictor | None:
    """Return a predictor for a task class; None for a class without a profile."""
    samples = profile(task_class, reading)
    if samples is None:
        return None
    if predictor == "lr_knn":
        return min((train(name, samples) for name in ("lr", "knn")), key=lambda p: p.error)
    return train(predictor, samples)


def held_out_errors(predictor: str) -> dict[str, Predictor]:
    """Return the trained predictor, with its errors, of every task class that has a profile.

    >>> model = held_out_errors("lr")["library"]
    >>> bool(0.0 < model.error < 0.1)
    True
    """
    copies = [f"copy_{way}_{memory}" for way in ("in", "out") for memory in ("pageable", "pinned")]
    classes = [*copies, "library", *(f"{name}.kernel" for name in CRITICAL + BATCH)]
    models = {name: trained(predictor, name, 0) for name in classes}
    return {name: model for name, model in models.items() if model is not None}


def train(name: str, samples: Profile) -> Predictor:
    """Train a model on a random 90 % of the samples and measure its error on the others."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(samples.seconds))
    n = round(TRAINING_SHARE * len(order))
    known, held_out = order[:n], order[n:]
    if name == "ann":
        known = known[: max(NEIGHBOURS, round(SEARCHED_SHARE * n))]
    model = _model(name).fit(samples.features[known], samples.seconds[known])
    measured = samples.seconds[held_out]
    predicted = np.maximum(model.predict(samples.features[held_out]), 0.0)
    errors = np.abs(predicted - measured) / measured  # equation 8.4
    is_long = measured >= HARMLESS_S
    long_error = float(errors[is_long].mean()) if is_long.any() else float("nan")
    return Predictor(name, model, float(errors.mean()), long_error)


def predicted_seconds(
    predictor: str, workload: Workload, graph: TaskGraph, known: FloatArray
) -> FloatArray:
    """Return the predicted duration of each task; `known` where there is no profile."""
    about = workload.applications
    assert about is not None
    seconds, reading = known.copy(), workload.parameters.get("reading", 0)
    for number, name in enumerate(graph.class_names):
        mine = graph.task_class == number
        if not mine.any():  # no model predicts for nothing
            continue
        model = trained(predictor, name, reading if isinstance(reading, int) else 0)
        if model is not None:
            seconds[mine] = model.seconds(about.features[mine])
    return seconds


def _model(name: str) -> Any:
    """Return an untrained model of scikit-learn."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    if name == "lr":
        return LinearRegression()
    if name in ("knn", "ann"):
        return KNeighborsRegressor(n_neighbors=NEIGHBOURS)
    machine = make_pipeline(StandardScaler(), SVR())
    return TransformedTargetRegressor(regressor=machine, transformer=StandardScaler())
