/// The reason why the provider server cannot start, or cannot use one of its files.
package struct ProviderServerError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// A setting has a value that it does not take, or does not go together with another one.
        case invalidSetting
        /// A file cannot be read or written, or has an unexpected content.
        case unusableFile
        /// Encrypted credentials do not open with the key of this server.
        case wrongKey
    }

    package let code: Code
    /// A sentence for a person that says what happened and what to do. It contains no secrets.
    package let cause: String

    package init(_ code: Code, _ cause: String) {
        self.code = code
        self.cause = cause
    }

    package var description: String { cause }
}
