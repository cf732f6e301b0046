"""Predictors of durations: what they learn, and how well they do on what they have not seen."""

from __future__ import annotations

import numpy as np
import pytest

from simsched.policy.parts.predictors import train, trained
from simsched.report.show.policy import named_policy
from simsched.report.terminal import text
from simsched.workload.accelerator_programs import profile


def test_linear_regression_fits_regular_kernels_and_neighbours_divergent_ones() -> None:
    regular, divergent = profile("face.kernel"), profile("hs.kernel")
    assert regular is not None
    assert divergent is not None
    assert train("lr", regular).error < train("knn", regular).error
    assert 3 * train("knn", divergent).error < train("lr", divergent).error
    for name, task_class in (("lr", "face.kernel"), ("knn", "hs.kernel")):
        chosen = trained("lr_knn", task_class)
        assert chosen is not None
        assert chosen.name == name
    assert trained("lr_knn", "host") is None


def test_held_out_errors_are_shown() -> None:
    samples = profile("hs.kernel")
    assert samples is not None
    # Equation 8.4 over the tenth of the samples that the model has not seen.
    unseen = np.random.default_rng(0).permutation(1000)[900:]
    predicted = train("ann", samples).seconds(samples.features[unseen])
    error = np.mean(np.abs(predicted / samples.seconds[unseen] - 1.0))
    output = text(named_policy("baymax[predictor=ann]"))
    assert f"held_out_error_percent hs.kernel (ann) = {100 * error:.4g}\n" in output
    assert output.count("held_out_error_percent") == 4 + 1 + 8 + 7  # copies, library, programs
    figures = named_policy("baymax_nc[predictor=ann]").figures
    assert figures["held_out_error_percent hs.kernel (ann)"] == pytest.approx(100 * error)
    assert "held_out_error_percent" not in text(named_policy("baymax[predictor=view]"))


@pytest.mark.parametrize("name", ["svm", "ann"])
def test_other_models_predict_too(name: str) -> None:
    samples = profile("hs.kernel")
    assert samples is not None
    model = train(name, samples)
    assert 0.0 < model.error < 0.5
    assert np.all(model.seconds(samples.features) >= 0.0)
