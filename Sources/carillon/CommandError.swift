import ArgumentParser

/// What went wrong, for the one line that a command ends with.
struct CommandError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
