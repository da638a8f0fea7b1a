import ArgumentParser

/// The error of a command. It prints the description as one line.
struct CommandError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
