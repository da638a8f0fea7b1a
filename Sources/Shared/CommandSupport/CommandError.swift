import ArgumentParser

/// The error of a command. It prints the description as one line.
package struct CommandError: Error, CustomStringConvertible {
    package let description: String
    /// The place in the document that was sent (RFC 6901); nil if the error is not about one.
    package let pointer: String?

    package init(_ description: String, at pointer: String? = nil) {
        self.description = description
        self.pointer = pointer
    }

    /// Returns this error with the place of the fault in the file that was given.
    package func inFile(_ file: String) -> CommandError {
        guard let pointer, !pointer.isEmpty else { return self }
        let name = file == "-" ? "The document" : file
        return CommandError("\(name) is wrong at \"\(pointer)\": \(description)")
    }
}
