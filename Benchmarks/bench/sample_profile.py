"""A profile for the compiler, made of counted instructions.

callgrind says how often each instruction ran, and the program's debug information which line of which function it was made
for, through everything that was inlined. What comes out is LLVM's sample profile as text:
https://clang.llvm.org/docs/UsersManual.html#sample-profile-text-format
"""

import collections
import json
import re

from processes import run


def counts(lines, program):
    """How often each instruction of the program ran, by its address, from callgrind's file (--dump-instr=yes).

    https://valgrind.org/docs/manual/cl-format.html
    """
    names, counted = {}, collections.Counter()
    address, is_ours, is_call = 0, False, False
    for line in lines:
        if line.startswith(("ob=", "cob=")):
            # Names are written out where they first stand, which may be the object of a function that is called.
            kind, number, name = re.fullmatch(r"(c?ob)=\((\d+)\)(?: (.*))?\n?", line).groups()
            is_named = names.setdefault(number, name) == program
            if kind == "ob":
                is_ours = is_named
        elif line.startswith("calls="):
            is_call = True
        elif line[0] in "+-*" or line[0].isdigit():
            position, _, *cost = line.split()
            address = moved(address, position)
            # The line after `calls=` has what the call cost altogether.
            if is_ours and not is_call and cost:
                counted[address] += int(cost[0])
            is_call = False
    return counted


def moved(address, position):
    if position == "*":
        return address
    if position[0] in "+-":
        return address + int(position[0] + "1") * int(position[1:], 0)
    return int(position, 0)


def stacks(symbolizer, program, addresses):
    """For each address the functions it stands in, the outermost first, each with the place in it."""
    asked = "".join(f"{address:#x}\n" for address in addresses)
    answer = run(symbolizer, f"--obj={program}", "--inlines", "--no-demangle", "--output-style=JSON", input=asked)
    return [stack(line) for line in answer.splitlines()]


def stack(line):
    """What llvm-symbolizer says of one address, in JSON."""
    symbols = [symbol for symbol in json.loads(line).get("Symbol", []) if symbol["FunctionName"]]
    return [(symbol["FunctionName"], place(symbol)) for symbol in reversed(symbols)]


def place(symbol):
    """Lines are counted from the function's own, in 16 bits, and several pieces of one are told apart."""
    return (symbol["Line"] - symbol["StartLine"]) & 0xFFFF, base(symbol["Discriminator"])


def base(discriminator):
    """Of the three numbers in a discriminator the one that the compiler asks for: LLVM's DebugInfoMetadata.h, at
    getBaseDiscriminatorFromDiscriminator. An odd one has none."""
    if discriminator & 1:
        return 0
    rest = discriminator >> 1
    return rest >> 1 & 0xFE0 | rest & 0x1F if rest & 0x20 else rest & 0x1F


class Function:
    """How often the lines of a function ran, and those of what was inlined into it."""

    def __init__(self):
        self.lines, self.inlined = collections.Counter(), {}

    def add(self, stack, count):
        (_, at), *inner = stack
        if inner:
            self.inlined.setdefault((at, inner[0][0]), Function()).add(inner, count)
        else:
            # A line ran as often as any instruction of it.
            self.lines[at] = max(self.lines[at], count)

    @property
    def total(self):
        return sum(self.lines.values()) + sum(function.total for function in self.inlined.values())

    def text(self, depth=1):
        indent = " " * depth
        for at, count in sorted(self.lines.items()):
            yield f"{indent}{written(at)}: {count}\n"
        for (at, name), function in sorted(self.inlined.items()):
            yield f"{indent}{written(at)}: {name}:{function.total}\n"
            yield from function.text(depth + 1)


def written(at):
    line, discriminator = at
    return f"{line}.{discriminator}" if discriminator else f"{line}"


def profile(counted, stacks):
    """The text of the profile, from counts and the functions at each of their addresses, in the same order."""
    functions = collections.defaultdict(Function)
    for (_, count), stack in zip(counted.items(), stacks, strict=True):
        # What has other letters in its name is none that the compiler will look for.
        if stack and all(re.fullmatch(r"[\w$.]+", name) for name, _ in stack):
            functions[stack[0][0]].add(stack, count)
    text = []
    for name, function in sorted(functions.items(), key=lambda item: -item[1].total):
        # How often it was called is not counted: as often as its first line ran is near enough.
        first = function.lines[min(function.lines)] if function.lines else 0
        text += [f"{name}:{function.total}:{first}\n", *function.text()]
    return "".join(text)
