"""Small files about one machine: two packages of two cores with two threads each."""

from __future__ import annotations

HWLOC_2 = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x000000ff" nodeset="0x00000003">
{packages}
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
    <indexes length="4">0 1 </indexes>
    <u64values length="12">10 21 21 10 </u64values>
  </distances2>
</topology>
"""

PACKAGE_2 = """    <object type="Package" os_index="{p}" cpuset="{all:#x}" nodeset="{node:#x}">
      <info name="CPUModel" value="Example X2 @ 2.00GHz"/>
      <object type="NUMANode" os_index="{p}" cpuset="{all:#x}" nodeset="{node:#x}"
        local_memory="8589934592"/>
      <object type="L3Cache" cpuset="{all:#x}" cache_size="8388608" depth="3" cache_type="0">
{cores}
      </object>
    </object>"""

CORE_2 = """
        <object type="L2Cache" cpuset="{core:#x}" cache_size="1048576" depth="2" cache_type="0">
          <object type="L1iCache" cpuset="{core:#x}" cache_size="65536" depth="1" cache_type="2"/>
          <object type="Core" os_index="{c}" cpuset="{core:#x}">
            <object type="PU" os_index="{c}" cpuset="{one:#x}"/>
            <object type="PU" os_index="{d}" cpuset="{two:#x}"/>
          </object>
        </object>"""


def hwloc_2() -> str:
    """Threads 0 and 4 are of core 0, 1 and 5 of core 1, and so on; cores 0 and 1 of package 0."""
    packages = []
    for p in range(2):
        cores = [
            CORE_2.format(c=c, d=c + 4, one=1 << c, two=1 << c + 4, core=(1 << c) | (1 << c + 4))
            for c in (2 * p, 2 * p + 1)
        ]
        packages.append(
            PACKAGE_2.format(p=p, node=1 << p, all=0x33 << 2 * p, cores="\n".join(cores))
        )
    return HWLOC_2.format(packages="\n".join(packages))


#: Version 1: nodes above cores, memory without cores beside, distances at the top.
HWLOC_1 = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc.dtd">
<topology>
  <object type="Machine" os_index="0" cpuset="0x0000000f">
    <distances nbobjs="3" relative_depth="1" latency_base="10.000000">
      <latency value="1.0"/><latency value="2.1"/><latency value="3.1"/>
      <latency value="2.1"/><latency value="1.0"/><latency value="4.1"/>
      <latency value="3.1"/><latency value="4.1"/><latency value="1.0"/>
    </distances>
    <object type="Socket" os_index="0" cpuset="0x0000000f">
      <object type="Group" cpuset="0x00000003">
        <object type="NUMANode" os_index="0" cpuset="0x00000003" local_memory="4294967296">
          <object type="Cache" cpuset="0x00000003" cache_size="2097152" depth="2" cache_type="0">
            <object type="Core" os_index="0" cpuset="0x1"><object type="PU" os_index="0" cpuset="0x1"/></object>
            <object type="Core" os_index="1" cpuset="0x2"><object type="PU" os_index="1" cpuset="0x2"/></object>
          </object>
        </object>
        <object type="NUMANode" os_index="2" cpuset="0x0" local_memory="1073741824">
          <info name="Type" value="MCDRAM"/>
        </object>
      </object>
      <object type="Group" cpuset="0x0000000c">
        <object type="NUMANode" os_index="1" cpuset="0x0000000c" local_memory="4294967296">
          <object type="Core" os_index="2" cpuset="0x4"><object type="PU" os_index="2" cpuset="0x4"/></object>
          <object type="Core" os_index="3" cpuset="0x8"><object type="PU" os_index="3" cpuset="0x8"/></object>
        </object>
      </object>
    </object>
  </object>
</topology>
"""  # noqa: E501 (objects of one line each)

NUMACTL = """available: 2 nodes (0-1)
node 0 cpus: 0 1 4 5
node 0 size: 8192 MB
node 0 free: 4000 MB
node 1 cpus: 2 3 6 7
node 1 size: 8192 MB
node 1 free: 4000 MB
node distances:
node   0   1
  0:  10  21
  1:  21  10
"""

LSCPU = """{"lscpu": [
  {"field": "Architecture:", "data": "x86_64"},
  {"field": "Vendor ID:", "data": "Example", "children": [
    {"field": "Model name:", "data": "Example X2", "children": [
      {"field": "Thread(s) per core:", "data": "2"},
      {"field": "Core(s) per socket:", "data": "2"},
      {"field": "Socket(s):", "data": "2"},
      {"field": "CPU max MHz:", "data": "2000.0000"}]}]},
  {"field": "Caches (sum of all):", "data": null, "children": [
    {"field": "L1d:", "data": "128 KiB (4 instances)"},
    {"field": "L2:", "data": "4 MiB (4 instances)"},
    {"field": "L3:", "data": "16 MiB (2 instances)"}]},
  {"field": "NUMA:", "data": null, "children": [
    {"field": "NUMA node(s):", "data": "2"}]}]}
"""

#: The same without ``-J``.
PLAIN_LSCPU = """Architecture:             x86_64
  CPU op-mode(s):         32-bit, 64-bit
CPU(s):                   8
  On-line CPU(s) list:    0-7
Vendor ID:                Example
  Model name:             Example X2
    Thread(s) per core:   2
    Core(s) per socket:   2
    Socket(s):            2
    CPU max MHz:          2000.0000
Caches (sum of all):
  L1d:                    128 KiB (4 instances)
  L2:                     4 MiB (4 instances)
  L3:                     16 MiB (2 instances)
NUMA:
  NUMA node(s):           2
  NUMA node0 CPU(s):      0,1,4,5
  NUMA node1 CPU(s):      2,3,6,7
Vulnerabilities:
  Meltdown:               Mitigation; PTI
"""

#: Of a version that gives the size of one instance and no counts.
OLD_LSCPU = """{"lscpu": [
  {"field": "Thread(s) per core:", "data": "1"},
  {"field": "Core(s) per socket:", "data": "2"},
  {"field": "Socket(s):", "data": "2"},
  {"field": "NUMA node(s):", "data": "2"},
  {"field": "CPU max MHz:", "data": "2000.0000"},
  {"field": "L1d cache:", "data": "32K"},
  {"field": "L3 cache:", "data": "8192K"}]}
"""

MLC = """Intel(R) Memory Latency Checker - v3.9
Measuring idle latencies (in ns)...
\t\tNuma node
Numa node\t     0\t     1\t
       0\t  80.0\t 140.0\t
       1\t 141.0\t  81.0\t

Measuring Memory Bandwidths between nodes within system
Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)
\t\tNuma node
Numa node\t     0\t     1\t
       0\t 40000.0\t 17000.0\t
       1\t 16000.0\t 41000.0\t

Measuring cache-to-cache transfer latency (in ns)...
Local Socket L2->L2 HITM latency\t50.0
Remote Socket L2->L2 HITM latency (data address homed in writer socket)
\t\t\tReader Numa Node
Writer Numa Node     0\t     1\t
            0\t     -\t 120.0\t
            1\t 124.0\t     -\t
"""

STREAM = """STREAM version $Revision: 5.10 $
Number of Threads counted = 1
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           12000.0     0.013    0.013    0.013
Triad:          11000.0     0.013    0.013    0.013
STREAM version $Revision: 5.10 $
Number of Threads counted = 2
Copy:           22000.0     0.013    0.013    0.013
"""

TABLE = "threads,copy_GBps\n1,12.0\n2,22.0\n"

CORE_TO_CORE = """,,,
20,,,
60,61,,
62,63,22,
"""

NVIDIA_TOPO = (
    "\t\x1b[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV4\t0-1,4-5\t0\t\tN/A\n"
    "GPU1\tNV4\t X \t2-3,6-7\t1\t\tN/A\n"
)

NVBANDWIDTH = """nvbandwidth Version: v0.4
Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     26.03     24.50

Running device_to_host_memcpy_ce.
memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0     22.00     21.00

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A     93.22
 1     91.10       N/A
"""
P2P = """[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, NVIDIA X, pciBusID: 7, pciDeviceID: 0, pciDomainID:0
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 1170.00  14.22
     1  14.57 1168.00
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 1200.00  93.22
     1  91.10 1180.00
"""
BANDWIDTH_TEST = """[CUDA Bandwidth Test] - Starting...
 Device 1: NVIDIA X
 Quick Mode
 Host to Device Bandwidth, 1 Device(s)
 PINNED Memory Transfers
   Transfer Size (Bytes)\tBandwidth(GB/s)
   16000000\t\t24.1
   32000000\t\t25.3
 Device to Host Bandwidth, 1 Device(s)
 PINNED Memory Transfers
   Transfer Size (Bytes)\tBandwidth(GB/s)
   32000000\t\t20.5
 Device to Device Bandwidth, 1 Device(s)
 PINNED Memory Transfers
   Transfer Size (Bytes)\tBandwidth(GB/s)
   32000000\t\t1173.2
"""

SIMGRID_DIRECT = """
    <route src="Jupiter" dst="Fafard"><link_ctn id="6"/><link_ctn id="3"/></route>"""
SIMGRID = f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="zone0" routing="Full">
    <host id="Tremblay" speed="98.095Mf"/>
    <host id="Jupiter" speed="76.296Mf" core="4"/>
    <host id="Fafard" speed="76.296Mf,38.148Mf" core="4"/>
    <link id="6" bandwidth="41.279125MBps" latency="59.904us"/>
    <link id="3" bandwidth="34.285625MBps" latency="514.433us"/>
    <link id="7" bandwidth="100Mbps" latency="1ms" sharing_policy="SPLITDUPLEX"/>
    <link id="inside" bandwidth="1GBps" latency="10us" sharing_policy="FATPIPE"/>
    <route src="Tremblay" dst="Jupiter"><link_ctn id="6"/><link_ctn id="inside"/></route>
    <route src="Tremblay" dst="Fafard">
      <link_ctn id="7" direction="UP"/><link_ctn id="3"/>
    </route>{SIMGRID_DIRECT}
  </zone>
</platform>
"""
SIMGRID_CLUSTER = """<platform version="4.1">
  <zone id="world" routing="Full">
    <cluster id="griffon" prefix="griffon-" suffix=".example" radical="1-94" speed="2Gf" core="8"
      bw="125MBps" lat="50us" bb_bw="2.25GBps" bb_lat="500us"/>
  </zone>
</platform>
"""
SIMGRID_TWO = """<platform version="4.1">
  <zone id="world" routing="Full">
    <cluster id="a" prefix="a-" suffix="" radical="0-2" speed="1Gf" core="2" bw="125MBps"
      lat="50us"/>
    <cluster id="b" prefix="b-" suffix="" radical="0-1" speed="2Gf" core="2" bw="1.25GBps"
      lat="10us" bb_bw="10GBps" bb_lat="5us"/>
    <link id="wan" bandwidth="1GBps" latency="10ms"/>
    <zoneRoute src="a" dst="b" gw_src="a-a_router" gw_dst="b-b_router">
      <link_ctn id="wan"/>
    </zoneRoute>
  </zone>
</platform>
"""
