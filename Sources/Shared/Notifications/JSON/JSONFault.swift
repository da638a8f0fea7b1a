/// Why a text cannot be read as JSON, and where.
package struct JSONFault: Error, Sendable, Hashable {
    package enum Cause: Sendable, Hashable {
        /// The text does not follow the grammar of RFC 8259.
        /// - Parameters:
        ///   - offset: the place of the first wrong byte, from 0; the length of the text if it ends too early.
        ///   - line: its line, from 1; nil if the text is one line.
        case malformed(offset: Int, line: Int?)
        /// An object has a key twice, and this reader does not choose one of the values.
        case repeatedKey(String)
        /// There are more levels of objects and arrays than this.
        case tooDeep(Int)
    }

    package var cause: Cause
    /// The place of the value at fault in the document (RFC 6901). It is "" if the text is not JSON.
    package var pointer: String

    package init(cause: Cause, pointer: String) {
        self.cause = cause
        self.pointer = pointer
    }

    /// What is wrong, in a sentence.
    /// - Parameter subject: what was read, such as "The body".
    package func detail(of subject: String) -> String {
        switch cause {
        case .malformed(let offset, let line):
            "\(subject) is not JSON (RFC 8259): byte \(offset)\(line.map { " in line \($0)" } ?? "") does not belong there."
        case .repeatedKey(let key):
            "\(subject) has a key twice in one object: \(JSONString.quoted(key))."
        case .tooDeep(let levels):
            "\(subject) is nested in more than \(levels) levels."
        }
    }
}
