"""Every mechanism of the zoo with a consistent start and its degrees of freedom there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dalembert.mechanism.mechanism import Mechanism
from dalembert.zoo.car import car, car_start
from dalembert.zoo.cart_pole import cart_pole, cart_pole_start
from dalembert.zoo.chain import chain, chain_start
from dalembert.zoo.chaplygin_sleigh import chaplygin_sleigh, chaplygin_sleigh_start
from dalembert.zoo.delta import delta, delta_start
from dalembert.zoo.double_pendulum import constrained_double_pendulum, constrained_double_pendulum_start
from dalembert.zoo.five_bar import five_bar, five_bar_start
from dalembert.zoo.four_bar import four_bar, four_bar_start, parallel_four_bar, parallel_four_bar_start
from dalembert.zoo.furuta import furuta, furuta_start
from dalembert.zoo.hand import hand, hand_start
from dalembert.zoo.heavy_top import heavy_top, heavy_top_start
from dalembert.zoo.human import planar_human, planar_human_start
from dalembert.zoo.ladder import ladder, ladder_start
from dalembert.zoo.loader import loader, loader_start
from dalembert.zoo.marionette import marionette, marionette_start
from dalembert.zoo.overconstrained import bennett, bennett_start, bricard, bricard_start, sarrus, sarrus_start
from dalembert.zoo.particles import cartesian_pendulum, particle_on_circle, particle_start
from dalembert.zoo.planar import Start
from dalembert.zoo.planar_3rrr import planar_3rrr, planar_3rrr_start
from dalembert.zoo.rolling_disc import rolling_disc, rolling_disc_start
from dalembert.zoo.slider_crank import (
    equal_slider_crank,
    equal_slider_crank_start,
    slider_crank,
    slider_crank_start,
)
from dalembert.zoo.ssrms import ssrms, ssrms_start
from dalembert.zoo.stewart import stewart, stewart_start
from dalembert.zoo.two_arms import two_arms, two_arms_start


@dataclass(frozen=True)
class ZooEntry:
    """How to build a mechanism with its defaults, where to start it, and nv − rank A there.

    held: whether nothing but its motors holds it up, so that it is shown with the inputs that hold it at its start.
    """

    build: Callable[..., Mechanism]
    start: Callable[..., Start]
    mobility: int
    held: bool = False


#: name: entry
CATALOG = {
    e.build.__name__: e
    for e in (
        ZooEntry(bennett, bennett_start, 1),
        ZooEntry(bricard, bricard_start, 1),
        ZooEntry(car, car_start, 2),
        ZooEntry(cart_pole, cart_pole_start, 2),
        ZooEntry(cartesian_pendulum, particle_start, 1),
        ZooEntry(chain, chain_start, 7),
        ZooEntry(chaplygin_sleigh, chaplygin_sleigh_start, 2),
        ZooEntry(constrained_double_pendulum, constrained_double_pendulum_start, 1),
        ZooEntry(delta, delta_start, 3, held=True),
        ZooEntry(equal_slider_crank, equal_slider_crank_start, 1),
        ZooEntry(five_bar, five_bar_start, 2),
        ZooEntry(four_bar, four_bar_start, 1),
        ZooEntry(furuta, furuta_start, 2),
        ZooEntry(hand, hand_start, 11),
        ZooEntry(heavy_top, heavy_top_start, 3),
        ZooEntry(ladder, ladder_start, 1),
        ZooEntry(loader, loader_start, 2),
        ZooEntry(marionette, marionette_start, 4),
        ZooEntry(parallel_four_bar, parallel_four_bar_start, 2),
        ZooEntry(particle_on_circle, particle_start, 1),
        ZooEntry(planar_3rrr, planar_3rrr_start, 3),
        ZooEntry(planar_human, planar_human_start, 8),
        ZooEntry(rolling_disc, rolling_disc_start, 3),
        ZooEntry(sarrus, sarrus_start, 1),
        ZooEntry(slider_crank, slider_crank_start, 1),
        ZooEntry(ssrms, ssrms_start, 10),
        ZooEntry(stewart, stewart_start, 6, held=True),
        ZooEntry(two_arms, two_arms_start, 3),
    )
}
