"""What a policy plans for an iteration, with codes for names and nothing left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simsched.engine.interface.runtime import ResolvedRuntime
from simsched.engine.interface.table import (
    COUNT,
    FEW,
    FLAG,
    INSTANT_PS,
    LENGTH,
    NATURAL,
    Range,
    Rising,
    array,
    index,
    index_or_none,
    interface,
    largest,
    length,
    number,
    of_c,
    part,
)
from simsched.policy.contract.blocks import THREAD_GROUPS
from simsched.policy.contract.plan import CONDITIONS, ROOTS, SCOPES, TAKES, WHERES

IN_ORDER, BY_PRIORITY = 1, 2  #: what comes first of the data that tasks in a pool group want
CHOICES = ("uniform", "ranked", "weighted")  #: how a step chooses among its candidates
UNIFORM, RANKED, WEIGHTED = range(3)

ByteArray = NDArray[np.uint8]
Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]


@interface("ssk_victims_t")
class VictimLists:
    """Candidates by list and worker; list l of worker w is row ``l * n_workers + w``."""

    n_lists = largest("step_list", NATURAL)
    n_listed = length("list_instance", LENGTH)
    step_choice: Int32Array = array("n_steps", Range(UNIFORM, WEIGHTED))
    step_list: Int32Array = array(
        "n_steps", index_or_none("n_lists"), "-1 where the choice is uniform"
    )
    list_ptr: Int64Array = array("n_lists * n_workers + 1", Rising("n_listed"), needs="n_lists")
    list_instance: Int32Array = array(
        "n_listed", None, "candidates, by (rank, domain, instance) or (domain, instance)"
    )
    list_value: Int32Array = array("n_listed", None, "their ranks or weights")


@interface("ssk_order_t")
class ResolvedOrder:
    """In which order workers look for work."""

    n_steps = length("step_group")
    step_group: Int32Array = array("n_steps", index("n_groups"))
    step_where: Int32Array = array("n_steps", Range(0, len(WHERES) - 1), "index into WHERES")
    step_take: Int32Array = array("n_steps", Range(0, len(TAKES) - 1), "index into TAKES")
    step_when: Int32Array = array(
        "n_steps", Range(0, 2 ** len(CONDITIONS) - 1), "bit i is set when CONDITIONS[i] is required"
    )
    step_least: Int32Array = array(
        "n_steps", COUNT, "fewest entries of an instance that is not empty"
    )
    step_attempts: Int32Array = array(
        "n_steps", NATURAL, "most instances drawn; 0: until one is not empty"
    )
    victims: VictimLists = part("", "of steps with ranks or weights")
    #: for each step as in the plan, shape (n_workers, n_instances); the reference alone reads them
    step_rank: tuple[Int32Array | None, ...]
    step_weight: tuple[Int32Array | None, ...]


@interface("ssk_plan_t", of_c("int32_t", "unchanged", "this is the plan of the iteration before"))
class ResolvedPlan:
    """A plan with names replaced by codes, defaults filled in."""

    n_groups = length("group_scope", COUNT)
    n_devices = length("device_capacity")
    n_samples = length("sample_offset_bytes", axis=1)
    n_held = length("held", LENGTH)
    n_counter_groups = largest("counter_group", Range(0, FEW.high))
    group_scope: Int32Array = array("n_groups", Range(0, len(SCOPES) - 1), "index into SCOPES")
    group_locked: ByteArray = array("n_groups", FLAG)
    group_marks_active: ByteArray = array("n_groups", FLAG)
    group_prefetches: ByteArray = array(
        "n_groups", Range(0, BY_PRIORITY), "0, IN_ORDER or BY_PRIORITY", needs="copies_data"
    )
    group_device: Int32Array = array(
        "n_groups",
        index_or_none("n_devices"),
        "device that tasks from the group occupy, -1 for none",
        needs="n_devices",
    )
    device_capacity: Int32Array = array("n_devices", COUNT)
    order: ResolvedOrder = part("order.", "in which workers look for work")
    spawn_order: ByteArray = array("n_tasks", FLAG, "CHILD_FIRST or PARENT_FIRST")
    group_of: NDArray[np.int8] = array("n_tasks", index("n_groups"))
    instance_of: Int32Array = array("n_tasks", None, "-1 for the pusher's own")
    counter_group: Int32Array = array("n_tasks", index_or_none("n_counter_groups"))
    active: ByteArray = array("n_workers", FLAG)
    roots: int = number(
        Range(0, len(ROOTS) - 1), "to whom tasks without a pusher go: index into ROOTS"
    )
    monitor_period_ps: int = number(INSTANT_PS, "0 without a monitor")
    sample_offset_bytes: Int64Array = array("n_blocks, n_samples")
    balance_period_ps: int = number(
        INSTANT_PS, "between scans that mark all pages; 0: pages do not follow accesses"
    )
    balance_page_bytes: int = number(LENGTH)
    balance_faults: int = number(NATURAL, "faults in a row from one domain that let a block move")
    balance_group: int = number(
        Range(0, len(THREAD_GROUPS) - 1), "who shares pages: index into THREAD_GROUPS"
    )
    held_ptr: Int64Array = array("n_tasks + 1", Rising("n_held"), needs="n_held")
    held: Int32Array = array(
        "n_held", index("n_tasks"), "tasks that wait for the creation of a task, ascending"
    )
    times_tasks: bool = number(gloss="the time that each task is executed is measured")
    runtime: ResolvedRuntime | None = part(
        "runtime.", "what feeds workers from queues of its own, instead of the policy's hooks"
    )
