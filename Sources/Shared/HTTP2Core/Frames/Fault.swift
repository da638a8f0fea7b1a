/// A rule that the peer has broken: a connection error (RFC 9113, 5.4.1) or a stream error (5.4.2), as the place says
/// that reports it.
///
/// Its text is a constant and contains no bytes of the peer, so it may go into logs and into GOAWAY.
package struct Fault: Error, Sendable, CustomStringConvertible {
    /// The code for GOAWAY or RST_STREAM.
    package let code: ErrorCode
    /// The section of RFC 9113 or RFC 7541 that has the rule.
    package let section: StaticString
    /// What is wrong.
    package let text: StaticString
    /// Set if a limit against floods was exceeded.
    package let flood: FloodKind?

    init(_ code: ErrorCode, _ section: StaticString, _ text: StaticString) {
        self.code = code
        self.section = section
        self.text = text
        flood = nil
    }

    /// A limit against floods was exceeded (RFC 9113, 10.5).
    init(flood kind: FloodKind) {
        code = .enhanceYourCalm
        section = "RFC 9113, 10.5"
        text = "too many frames or bytes of one kind"
        flood = kind
    }

    package var description: String { "\(code): \(rule)" }

    /// The description without the code, for those who show that themselves.
    package var rule: String { flood.map { "flood of \($0.rawValue)" } ?? "\(text) (\(section))" }
}
