"""SDF, the files of Gazebo and Drake: versions 1.4 to 1.12, kinematic graphs with loops included."""

from dalembert.formats.sdf.reader import read_sdf as read_sdf
