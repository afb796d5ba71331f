# SPDX-License-Identifier: Apache-2.0
# Prints the public names of the package rowlock, each with its signature or its members.
import inspect

import rowlock
import rowlock.aio
import rowlock.testing


def public(names):
    return sorted(name for name in names if not name.startswith("_"))


def signature(function):
    """Without types, which the versions of Python print differently."""
    plain = inspect.signature(function)
    parameters = [p.replace(annotation=p.empty) for p in plain.parameters.values()]
    if parameters and parameters[0].name == "state":
        return ""  # only the package itself calls it
    return str(plain.replace(parameters=parameters, return_annotation=plain.empty))


def show(name, value):
    if inspect.isclass(value):
        bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
        print(f"class {name}({bases})")
        if not issubclass(value, BaseException):
            print(f"    {signature(value)}")
        own = {}
        for part in reversed(value.__mro__):
            if part.__module__.startswith("rowlock"):
                own.update(vars(part))
                own.update(dict.fromkeys(getattr(part, "__annotations__", {})))
                own.pop("__dict__", None)
        for member in public(own):
            found = inspect.getattr_static(value, member, None)
            found = getattr(found, "__func__", found)
            print(f"    {member}{signature(found) if inspect.isfunction(found) else ''}")
    elif callable(value):
        print(f"{name}{signature(value)}")
    else:
        print(name)


for module in rowlock, rowlock.aio, rowlock.testing:
    print(f"== {module.__name__}")
    own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__]
    for name in public(getattr(module, "__all__", own)):
        show(name, getattr(module, name))
