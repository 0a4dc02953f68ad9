"""A network of nerve cells in NEURON, its cells dealt out to the ranks: an ordinary NEURON
program, which knows nothing of Fanlight.

    mpiexec -n 2 python network.py integrate-and-fire

The ranks exchange their spikes every half millisecond of the cells' time, the shortest delay
of a connection.
"""

import argparse
import ctypes
import hashlib
import os
import time

import numpy as np
from neuron import h

DELAY = 0.5  # ms


def integrate_and_fire(gids):
    """100 cells in a ring: each spike is handed on to the next cell; several go around."""
    cells = {}
    for gid in gids:
        cell = h.IntFire1()
        cell.tau, cell.refrac = 10, 2
        cells[gid] = (cell, cell)
    return cells


def hodgkin_huxley(gids):
    """200 cells of one compartment with Hodgkin and Huxley's channels and a synapse."""
    cells = {}
    for gid in gids:
        soma = h.Section(name=f"soma{gid}")
        soma.L = soma.diam = 20
        soma.insert("hh")
        synapse = h.ExpSyn(soma(0.5))
        synapse.tau = 2
        cells[gid] = (soma, synapse)
    return cells


NETWORKS = {
    # cells, how to make them, time in ms, how far the connections of a cell reach, weight
    "integrate-and-fire": (100, integrate_and_fire, 5000, (1,), 2),
    "hodgkin-huxley": (200, hodgkin_huxley, 1000, (1, 7), 0.02),
}


def build(pc, name):
    count, make, duration, reach, weight = NETWORKS[name]
    gids = range(int(pc.id()), count, int(pc.nhost()))
    cells = make(gids)
    keep = [cells]
    for gid, (cell, _) in cells.items():
        pc.set_gid2node(gid, int(pc.id()))
        source = h.NetCon(cell(0.5)._ref_v, None, sec=cell) if hasattr(cell, "L") else h.NetCon(cell, None)
        pc.cell(gid, source)
        keep.append(source)
    for gid, (_, target) in cells.items():
        for distance in reach:
            connection = pc.gid_connect((gid - distance) % count, target)
            connection.delay = DELAY
            connection.weight[0] = weight
            keep.append(connection)
        if gid % (count // 5) == 0:
            # A push for every fifth of the ring, at times that are no multiples of each other.
            push = h.NetStim()
            push.number, push.start, push.interval = 1, 1 + 0.37 * gid, 1
            start = h.NetCon(push, target)
            start.delay, start.weight[0] = 1, max(weight, 2 if not hasattr(target, "tau") else weight)
            keep += [push, start]
    return keep, duration


def timer():
    """The exchange timer, if this process was started with it."""
    program = ctypes.CDLL(None)
    if not hasattr(program, "exchange_timer_reset"):
        return None
    program.exchange_timer_count.restype = ctypes.c_size_t
    program.exchange_timer_seconds.restype = ctypes.POINTER(ctypes.c_double)
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("--duration", type=float, help="ms of the cells' time")
    parser.add_argument("--output", help="folder for the spikes and times of each rank")
    args = parser.parse_args()

    h.nrnmpi_init()
    pc = h.ParallelContext()
    keep, duration = build(pc, args.network)
    times, gids = h.Vector(), h.Vector()
    pc.spike_record(-1, times, gids)
    h.load_file("stdrun.hoc")
    h.dt = 0.025
    h.tstop = args.duration or duration
    pc.set_maxstep(10)
    h.stdinit()

    clock = timer()
    pc.barrier()
    if clock:
        clock.exchange_timer_reset()
    start = time.perf_counter()
    pc.psolve(h.tstop)
    seconds = time.perf_counter() - start
    exchanges = np.zeros(0)
    if clock:
        exchanges = np.ctypeslib.as_array(clock.exchange_timer_seconds(), (clock.exchange_timer_count(),)).copy()

    spikes = np.array(sorted(zip(times.as_numpy(), gids.as_numpy())), dtype=np.float64)
    if args.output:
        np.savez(os.path.join(args.output, f"rank{int(pc.id())}.npz"), spikes=spikes, seconds=seconds,
                 exchanges=exchanges, ranks=int(pc.nhost()))
    digest = hashlib.sha256(spikes.tobytes()).hexdigest()[:16]
    print(f"rank {int(pc.id())} of {int(pc.nhost())}: {len(spikes)} spikes ({digest}), {seconds:.3f} s", flush=True)
    pc.barrier()
    h.quit()


if __name__ == "__main__":
    main()
