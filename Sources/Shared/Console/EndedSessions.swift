package import HTTPAPI

/// How many browsers were signed out.
package struct EndedSessions: JSONMessage {
    package let ended: Int

    package static let form: JSONForm<EndedSessions> = .object(
        "EndedSessions", EndedSessions.init(ended:),
        .required("ended", .integer(to: ConsoleLimits.sessions), \.ended))

    package init(ended: Int) { self.ended = ended }
}
