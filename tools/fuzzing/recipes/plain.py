"""Any operator, from its schema alone: inputs that broadcast, attributes drawn by type."""


def draw_attribute(case, kind):
    r = case.r
    if kind == "INT":
        return r.choice((0, 1, -1, 2, 3))
    if kind == "FLOAT":
        return r.choice((0.0, 1.0, 0.5, -1.0, 1e-5, r.uniform(-3, 3)))
    if kind == "INTS":
        return [r.randint(0, 3) for _ in range(r.randint(1, 4))]
    if kind == "FLOATS":
        return [r.uniform(-2, 2) for _ in range(r.randint(1, 4))]
    return None


def attributes(case):
    for name, (kind, required) in case.version.attributes.items():
        value = draw_attribute(case, kind)
        if value is not None and (required or case.maybe(0.4)):
            case.attr(name, value)


def inputs(case):
    formal = list(case.version.inputs)
    if formal and formal[-1].option == "variadic":
        formal = formal[:-1] + [formal[-1]] * case.r.choice((1, 1, 2, 3, 5))
    shapes = case.broadcasting(len(formal)) if formal else []
    if case.maybe(0.5):
        shapes = [shapes[0]] * len(formal) if formal else []
    for parameter, shape in zip(formal, shapes):
        if parameter.option == "optional" and case.maybe(0.4):
            case.skip()
        else:
            case.input(parameter.type, shape)


def plain(case):
    attributes(case)
    inputs(case)
