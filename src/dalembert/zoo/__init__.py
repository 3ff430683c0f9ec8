"""Named mechanisms of the papers and the field, and closed-form solutions (`exact`).

`name(...)` describes a mechanism, `name_start(...)` gives a consistent start as mappings (q, v); `CATALOG` lists all.

>>> from dalembert import zoo
>>> system = zoo.four_bar().compile()
>>> state = system.state(*zoo.four_bar_start(0.6, speed=2.0))
"""

from dalembert.zoo import exact
from dalembert.zoo.car import car, car_start
from dalembert.zoo.cart_pole import cart_pole, cart_pole_start
from dalembert.zoo.catalog import CATALOG, ZooEntry
from dalembert.zoo.chain import chain, chain_start
from dalembert.zoo.chaplygin_sleigh import chaplygin_sleigh, chaplygin_sleigh_start
from dalembert.zoo.delta import delta, delta_start
from dalembert.zoo.double_pendulum import constrained_double_pendulum, constrained_double_pendulum_start
from dalembert.zoo.five_bar import PEER_SPAN, five_bar, five_bar_start
from dalembert.zoo.four_bar import (
    PEER_FOUR_BAR,
    four_bar,
    four_bar_start,
    parallel_four_bar,
    parallel_four_bar_start,
)
from dalembert.zoo.furuta import furuta, furuta_start
from dalembert.zoo.hand import hand, hand_start
from dalembert.zoo.heavy_top import heavy_top, heavy_top_start
from dalembert.zoo.human import planar_human, planar_human_start
from dalembert.zoo.ladder import ladder, ladder_start
from dalembert.zoo.loader import loader, loader_start
from dalembert.zoo.marionette import marionette, marionette_start
from dalembert.zoo.overconstrained import bennett, bennett_start, bricard, bricard_start, sarrus, sarrus_start
from dalembert.zoo.particles import cartesian_pendulum, particle_on_circle, particle_start
from dalembert.zoo.planar_3rrr import planar_3rrr, planar_3rrr_start
from dalembert.zoo.rolling_disc import rolling_disc, rolling_disc_start
from dalembert.zoo.slider_crank import (
    equal_slider_crank,
    equal_slider_crank_start,
    slider_crank,
    slider_crank_start,
)
from dalembert.zoo.ssrms import ssrms, ssrms_start
from dalembert.zoo.stewart import StewartGeometry, stewart, stewart_start
from dalembert.zoo.two_arms import two_arms, two_arms_start

__all__ = [
    "CATALOG",
    "PEER_FOUR_BAR",
    "PEER_SPAN",
    "StewartGeometry",
    "ZooEntry",
    "bennett",
    "bennett_start",
    "bricard",
    "bricard_start",
    "car",
    "car_start",
    "cart_pole",
    "cart_pole_start",
    "cartesian_pendulum",
    "chain",
    "chain_start",
    "chaplygin_sleigh",
    "chaplygin_sleigh_start",
    "constrained_double_pendulum",
    "constrained_double_pendulum_start",
    "delta",
    "delta_start",
    "equal_slider_crank",
    "equal_slider_crank_start",
    "exact",
    "five_bar",
    "five_bar_start",
    "four_bar",
    "four_bar_start",
    "furuta",
    "furuta_start",
    "hand",
    "hand_start",
    "heavy_top",
    "heavy_top_start",
    "ladder",
    "ladder_start",
    "loader",
    "loader_start",
    "marionette",
    "marionette_start",
    "parallel_four_bar",
    "parallel_four_bar_start",
    "particle_on_circle",
    "particle_start",
    "planar_3rrr",
    "planar_3rrr_start",
    "planar_human",
    "planar_human_start",
    "rolling_disc",
    "rolling_disc_start",
    "sarrus",
    "sarrus_start",
    "slider_crank",
    "slider_crank_start",
    "ssrms",
    "ssrms_start",
    "stewart",
    "stewart_start",
    "two_arms",
    "two_arms_start",
]
