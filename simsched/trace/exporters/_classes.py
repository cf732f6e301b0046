"""Classes and names of the tasks of all iterations together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simsched.trace.recording import Recording
from simsched.workload.graph import Workload


class Classes:
    """Classes of tasks: `names`, those of the iterations before those of the initialisation."""

    def __init__(self, recording: Recording) -> None:
        init = recording.workload.init if recording.workload is not None else None
        own = () if init is None else init.class_names
        self.names = tuple(dict.fromkeys((*recording.class_names, *own)))
        index = {name: i for i, name in enumerate(self.names)}
        names = np.array([index[name] for name in recording.class_names], np.int32)
        self._iterations = names[recording.task_class]
        self._init = self._iterations
        if init is not None:
            self._init = np.array([index[name] for name in own], np.int32)[init.task_class]
        self.n_init_tasks = 0 if init is None else init.n_tasks

    def of(self, task: NDArray[np.int32], iteration: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the class, an index into `names`, of each task in an iteration."""
        result = np.zeros(len(task), np.int32)
        early = iteration == 0
        result[early] = self._init[task[early]]
        result[~early] = self._iterations[task[~early]]
        return result


class TaskNames:
    """What the program calls its tasks, those of the initialisation included, if `known`."""

    def __init__(self, workload: Workload | None) -> None:
        graph = None if workload is None else workload.graph
        init = graph if workload is None or workload.init is None else workload.init
        given = [None if one is None else one.task_names for one in (init, graph)]
        self._names = [None if names is None else np.array(names, object) for names in given]
        self.known = any(names is not None for names in self._names)

    def of(self, task: NDArray[np.int32], iteration: NDArray[np.int32]) -> NDArray[np.object_]:
        """Return the name of each task in an iteration, empty where it has none or is -1."""
        result = np.full(len(task), "", object)
        early = iteration == 0
        for stage, names in zip((early, ~early), self._names, strict=True):
            if names is not None:
                rows = stage & (task >= 0)
                result[rows] = names[task[rows]]
        return result
