import APNSProvider

/// The backend's settings, from the environment.
struct Settings {
    let credentials: ProviderCredentials
    let environment: APNSEnvironment
    /// Reads the app's list of the feedback service, if there is a provider certificate.
    let feedback: FeedbackReader?
    let topic: String
    let port: Int

    init(_ environment: [String: String]) throws {
        func value(_ name: String) throws -> String {
            guard let value = environment[name] else { throw MissingSetting(name: name) }
            return value
        }
        credentials = try ProviderCredentials(
            keyFile: value("APNS_KEY_FILE"), keyID: value("APNS_KEY_ID"), teamID: value("APNS_TEAM_ID"))
        topic = try value("APNS_TOPIC")
        port = environment["PORT"].flatMap(Int.init) ?? 8080
        let authority: APNSEnvironment.Authority = environment["APNS_CA"].map { .file($0) } ?? .system
        feedback = try environment["APNS_CERTIFICATE"].map { file in
            FeedbackReader(
                environment: try .custom(url: value("APNS_FEEDBACK_URL"), authority: authority),
                credentials: try ProviderCredentials(certificateFile: file))
        }
        if let url = environment["APNS_URL"] {
            self.environment = try .custom(url: url, authority: authority)
        } else {
            self.environment = environment["APNS_PRODUCTION"] == "1" ? .production : .development
        }
    }
}

struct MissingSetting: Error, CustomStringConvertible {
    let name: String
    var description: String { "Set \(name) in the environment." }
}
