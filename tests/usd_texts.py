"""Stages of USD as text, for tests."""

HEAD = (
    "#usda 1.0\n(\n    metersPerUnit = {length}\n    kilogramsPerUnit = {mass}\n"
    '    upAxis = "{up}"\n    defaultPrim = "World"\n)\n'
)


def stage(inner, length=1.0, mass=1.0, up="Z", name="World"):
    """A stage with these prims below one Xform."""
    return HEAD.format(length=length, mass=mass, up=up) + f'def Xform "{name}"\n{{\n{inner}\n}}\n'


def body(name, mass=None, inertia=None, com=None, at=None, inside="", more="", turn=None, scale=None):
    """A rigid body at a place, with its own prims inside."""
    lines = []
    if mass is not None:
        lines.append(f"float physics:mass = {mass}")
    if inertia is not None:
        lines.append(f"float3 physics:diagonalInertia = {tuple(inertia)}")
    if com is not None:
        lines.append(f"point3f physics:centerOfMass = {tuple(com)}")
    ops = [f"double3 xformOp:translate = {tuple(at)}"] if at is not None else []
    ops += [f"double xformOp:rotateZ = {turn}"] if turn is not None else []
    ops += [f"double3 xformOp:scale = {tuple(scale)}"] if scale is not None else []
    names = ", ".join('"' + x.split()[1] + '"' for x in ops)
    lines += [*ops, f"uniform token[] xformOpOrder = [{names}]", more, inside]
    schemas = 'prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]'
    return f'def Xform "{name}" (\n{schemas}\n)\n{{\n' + "\n".join(lines) + "\n}\n"


def joint(kind, name, parent=None, child=None, axis="Z", at=(0, 0, 0), there=(0, 0, 0), more="", schemas=()):
    """A joint of UsdPhysics; kind: "Revolute", … or "" for one with limits on six axes."""
    lines = [f'uniform token physics:axis = "{axis}"'] if kind in ("Revolute", "Prismatic", "Spherical") else []
    lines += [f"rel physics:body{k} = <{x}>" for k, x in enumerate((parent, child)) if x]
    lines += [f"point3f physics:localPos{k} = {tuple(x)}" for k, x in enumerate((at, there))]
    listed = ", ".join(f'"{x}"' for x in schemas)
    head = f"(\nprepend apiSchemas = [{listed}]\n)\n" if schemas else "\n"
    return f'def Physics{kind}Joint "{name}" {head}{{\n' + "\n".join([*lines, more]) + "\n}\n"


def locks(*axes):
    """Schemas and attributes that lock axes of a joint."""
    text = "\n".join(f"float limit:{a}:physics:low = 1\nfloat limit:{a}:physics:high = -1" for a in axes)
    return {"schemas": [f"PhysicsLimitAPI:{a}" for a in axes], "more": text}


def four_bar(k=1.0):
    """A four-bar whose loop is excluded from the articulation; lengths in units of k."""
    return "".join(
        [
            body("crank", 1.0, (0.001 * k**2, 0.0133 * k**2, 0.0133 * k**2), (0.1 * k, 0, 0)),
            body("coupler", 1.5, (0.001 * k**2, 0.06 * k**2, 0.06 * k**2), (0.3 * k, 0, 0), at=(0.2 * k, 0, 0)),
            body("rocker", 1.2, (0.001 * k**2, 0.03 * k**2, 0.03 * k**2), (0.2 * k, 0, 0), at=(0.55 * k, 0, 0)),
            joint("Revolute", "A", None, "/World/crank"),
            joint("Revolute", "B", "/World/crank", "/World/coupler", at=(0.2 * k, 0, 0)),
            joint("Revolute", "D", None, "/World/rocker", at=(0.55 * k, 0, 0)),
            joint("Revolute", "C", "/World/coupler", "/World/rocker", at=(0.6 * k, 0, 0), there=(0.4 * k, 0, 0),
                  more="bool physics:excludeFromArticulation = 1"),
        ]
    )  # fmt: skip
