# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 03 NUMA: why deferred allocation wins
#
# **Question.** A task graph runs on a server with eight memory nodes. Every edge of the graph is a
# buffer: one task writes it, others read it. On which node should that buffer be, and *when* does
# one know?

# %%
import matplotlib.pyplot as plt
import pandas as pd

import simsched

machine = simsched.machines.opteron64
machine

# %% [markdown]
# The machine has eight nodes, and a core that reads or writes another one than its own is slower
# the farther away it is. From core 0:

# %%
distance = pd.DataFrame(
    [
        {
            "node": node.name,
            "hops": machine.domain_hops[0, node.domain],
            "read [MB/s]": path.core_cap_bytes_per_s[0] / 1e6,
            "write [MB/s]": path.write_core_cap_bytes_per_s[0] / 1e6,
        }
        for node, path in zip(machine.nodes, machine.paths[0], strict=True)
    ]
)
assert distance["read [MB/s]"][0] > 4 * distance["read [MB/s]"].min()
distance

# %% [markdown]
# ## The program
#
# Jacobi's method on 4096 x 4096 numbers in blocks, twelve sweeps. There are no global arrays: each
# block of each sweep is a task that writes its result into buffers of its own for the tasks of the
# next sweep.

# %%
jacobi = simsched.workloads.jacobi_2d_opteron64(size_x=4096, size_y=4096, sweeps=12)
jacobi

# %% [markdown]
# ## Two moments
#
# * *Immediate* (`dsa_base`): a buffer is allocated when the task that will read it is created, on
#   the node of the worker that creates it. Who will write or read it is not known yet.
# * *Deferred* (`dfa`): a buffer is allocated when the task that writes it starts. Then its worker
#   is known, and so is the node: that worker's own.
#
# Both steal from near victims first; nothing else differs.

# %%
policies = {"immediate": "dsa_base", "deferred": "dfa"}
result = simsched.run(
    machine,
    jacobi,
    policies,
    seeds=3,
    jobs=1,
    metrics=["makespan_s", "managed_local_percent", "footprint_bytes", "idle_percent"],
)
result

# %%
makespan_s = result.runs.groupby("policy").makespan_s
local_percent = result.runs.groupby("policy").managed_local_percent
peak_bytes = result.runs.groupby("policy").footprint_bytes
assert makespan_s.max()["deferred"] < makespan_s.min()["immediate"]
assert local_percent.min()["deferred"] > local_percent.max()["immediate"] + 20
assert peak_bytes.max()["deferred"] < 0.8 * peak_bytes.min()["immediate"]

# %% [markdown]
# `managed local` is the share of the bytes in buffers that tasks find on their own node. It rises
# from two fifths to three quarters: writes are now local always, by construction, and reads often,
# because stealing keeps related tasks together. There is a second gain: a buffer that is not there
# before it is written takes no memory while it waits, so the *footprint* falls by a third.
#
# ## What became of the time
#
# The waterfall takes the difference apart. What shrinks most is how long workers wait for the
# memory controller of a node that others use, too, and by how much accesses take longer because
# their memory is far (*remote*).

# %%
axes = result.plot.waterfall("deferred")
# %%
parts_s = result.plot.difference("deferred").seconds
assert sorted(parts_s, key=parts_s.get)[:2] == ["wait DRAM: controller", "remote"]

# %% [markdown]
# ## Tasks to data as well
#
# Deferred allocation places what a task writes. What it reads lies where it was written; *work
# pushing* hands a ready task to a worker on the node of most of its input. `dsa_opt` does both;
# `ewp_input_only` pushes, but allocates immediately.

# %%
both = simsched.run(
    machine,
    jacobi,
    {
        "immediate": "dsa_base",
        "deferred": "dfa",
        "pushing": "ewp_input_only",
        "deferred + pushing": "dsa_opt",
    },
    seeds=3,
    jobs=1,
)
_, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
both.plot.speedup(ax=axes[0])
_ = both.plot.locality(ax=axes[1])
# %%
mean_s = both.runs.groupby("policy").makespan_s.mean()
assert mean_s.idxmin() == "deferred + pushing"
assert mean_s["deferred"] < min(mean_s["immediate"], mean_s["pushing"])

# %% [markdown]
# **Answer.** On the node of the task that writes it, which is known when that task starts and not
# before. Waiting costs nothing: nobody needs the buffer earlier.
#
# ## What to change next
#
# * `simsched.workloads.seidel_2d_opteron64(size_x=4096, size_y=4096, sweeps=12)`: a wavefront,
#   where tasks have less to do at a time.
# * `simsched.machines.sgi_uv2000_192`: twenty-four nodes, up to seven times as far.
# * `dataflow[allocation=dependence_aware]`: a guess at creation time. How close does it come?
# * `shm_base`: no buffers but two global matrices, spread over all nodes, so that seven eighths of
#   the bytes are remote. How much slower is that? The paper has up to three times
#   (`df_fig10a_max` in `docs/published/index.md`).
#
# ## Sources
#
# A. Drebes, A. Pop, K. Heydemann, A. Cohen, N. Drach, *Scalable Task Parallelism for NUMA: A
# Uniform Abstraction for Coordinated Scheduling and Memory Management*, PACT 2016: section 3.1
# (work pushing), section 3.2 (deferred allocation), tables 1 and 3 (machine, programs), figures 7
# to 9. `simsched show policy dataflow` has the model.
