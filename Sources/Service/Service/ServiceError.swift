/// Why the service cannot start, or cannot do what an administrator asked for.
package struct ServiceError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// An option or a setting has an invalid value.
        case badSetting
        /// The data folder cannot be used.
        case dataFolder
        /// Another service runs on the same data folder.
        case alreadyRunning
        /// A port or the administration's socket cannot be opened.
        case cannotListen
        /// The store failed.
        case store
        /// Certificates or keys cannot be made or read.
        case trust
    }

    package let code: Code
    /// One line for a person that says what happened and what to do. Contains no secret.
    package let cause: String

    package init(_ code: Code, _ cause: String) {
        self.code = code
        self.cause = cause
    }

    package var description: String { cause }
}
