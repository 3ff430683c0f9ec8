"""FMUs in FMPy: instances of both versions with values by name, and a fixed-step solver for model exchange."""

from __future__ import annotations

import ctypes
import shutil

import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Model, FMU2Slave
from fmpy.fmi3 import FMU3Model, FMU3Slave

from dalembert import zoo

CLASSES = {
    ("2.0", "co-simulation"): FMU2Slave, ("3.0", "co-simulation"): FMU3Slave,
    ("2.0", "model-exchange"): FMU2Model, ("3.0", "model-exchange"): FMU3Model,
}  # fmt: skip


def exported(name, folder, **options):
    """A mechanism of the zoo, its start, and its FMU."""
    entry = zoo.CATALOG[name]
    system = entry.build().compile()
    state = system.state(*entry.start())
    return system, state, system.export_fmu(folder / f"{name}.fmu", state, **options)


class Instance:
    """An FMU that is loaded, with values by name."""

    def __init__(self, path, version, kind="co-simulation", begun=True):
        self.version, self.description = version, fmpy.read_model_description(str(path))
        self.folder = fmpy.extract(str(path))
        self.references = {v.name: v.valueReference for v in self.description.modelVariables}
        part = self.description.coSimulation if kind == "co-simulation" else self.description.modelExchange
        self.fmu = CLASSES[version, kind](
            guid=self.description.guid, unzipDirectory=self.folder, instanceName="one",
            modelIdentifier=part.modelIdentifier,
        )  # fmt: skip
        self.fmu.instantiate()
        if begun:
            self.begin()

    def begin(self, **values):
        """Initialize it with starts, parameters and inputs."""
        if self.version == "2.0":
            self.fmu.setupExperiment(startTime=0.0)
            self.fmu.enterInitializationMode()
        else:
            self.fmu.enterInitializationMode(startTime=0.0)
        self.set(**values)
        self.fmu.exitInitializationMode()

    def set(self, **values):
        """Set values; __ in a name stands for a point."""
        put = self.fmu.setReal if self.version == "2.0" else self.fmu.setFloat64
        put([self.references[name.replace("__", ".")] for name in values], list(values.values()))

    def get(self, *names):
        """Values by name."""
        take = self.fmu.getReal if self.version == "2.0" else self.fmu.getFloat64
        return np.array(take([self.references[n] for n in names]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.fmu.freeInstance()
        shutil.rmtree(self.folder, ignore_errors=True)


class Exchanged(Instance):
    """An FMU for model exchange with a solver of fixed steps, the method of Runge and Kutta of order 4."""

    def __init__(self, path, version, begun=True):
        super().__init__(path, version, "model-exchange", begun)
        self.n, self.t, self.charts = sum(v.derivative is not None for v in self.description.modelVariables), 0.0, 0
        if begun:
            self.event()

    def event(self):
        """Handle an event; counts the charts that are changed."""
        again = True
        while again:
            update = self.fmu.newDiscreteStates if self.version == "2.0" else self.fmu.updateDiscreteStates
            again, _, _, changed, *_ = update()
            self.charts += bool(changed)
        self.fmu.enterContinuousTimeMode()

    def states(self):
        """The continuous states."""
        y = np.zeros(self.n)
        self.fmu.getContinuousStates(_at(y), self.n)
        return y

    def slopes(self, t, y):
        """Their derivatives."""
        y, out = np.ascontiguousarray(y), np.zeros(self.n)
        self.fmu.setTime(t)
        self.fmu.setContinuousStates(_at(y), self.n)
        ask = self.fmu.getDerivatives if self.version == "2.0" else self.fmu.getContinuousStateDerivatives
        ask(_at(out), self.n)
        return out

    def step(self, h):
        """One step."""
        t, y = self.t, self.states()
        a = self.slopes(t, y)
        b = self.slopes(t + h / 2, y + h / 2 * a)
        c = self.slopes(t + h / 2, y + h / 2 * b)
        d = self.slopes(t + h, y + h * c)
        self.t = t + h
        self.slopes(self.t, y + h / 6 * (a + 2 * b + 2 * c + d))
        if self.fmu.completedIntegratorStep()[0]:
            self.fmu.enterEventMode()
            self.event()


def _at(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
