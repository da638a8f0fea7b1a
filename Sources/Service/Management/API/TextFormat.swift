import Delivery
import Foundation
import Matching
import Notifications

/// A kind of text in a request: a pattern for the API's description, and a function that checks a text.
///
/// The pattern and the function allow the same texts. Clients can use the pattern; the service uses the function,
/// which calls the types that the rest of the service uses.
package struct TextFormat: Sendable {
    /// Describes the format in error messages, after the words "has to be".
    let name: String
    /// A regular expression (ECMA 262) for OpenAPI; nil if no pattern can describe the format.
    let pattern: String?
    /// The allowed lengths, in characters.
    let length: ClosedRange<Int>?
    let allows: @Sendable (String) -> Bool

    init(
        _ name: String,
        pattern: String? = nil,
        length: ClosedRange<Int>? = nil,
        allows: @escaping @Sendable (String) -> Bool,
    ) {
        self.name = name
        self.pattern = pattern
        self.length = length
        self.allows = allows
    }
}

extension TextFormat {
    static let any = TextFormat("a string") { _ in true }

    static let tenCharacters = TextFormat("ten capital letters and digits", pattern: "^[A-Z0-9]{10}$") {
        TeamID(rawValue: $0) != nil
    }

    static let bundleID = TextFormat(
        "a bundle ID: 1 to 200 letters, digits, hyphens and periods, without a period at either end",
        pattern: "^[A-Za-z0-9-](?:[A-Za-z0-9.-]{0,198}[A-Za-z0-9-])?$"
    ) { BundleID(rawValue: $0) != nil }

    static let environment = oneOf(Environment.allCases.map(\.rawValue))

    static let serial = TextFormat("a serial: 32 hexadecimal digits", pattern: "^[0-9a-fA-F]{32}$") {
        CertificateSerial($0) != nil
    }

    static let deviceID = TextFormat("a device ID: 16 hexadecimal digits", pattern: "^[0-9a-fA-F]{16}$") {
        DeviceID($0) != nil
    }

    static let invitationID = TextFormat("an invitation's ID: 64 hexadecimal digits", pattern: "^[0-9a-fA-F]{64}$") {
        Invitation.digest(withID: $0) != nil
    }

    static let hexadecimal = TextFormat("hexadecimal digits", pattern: "^[0-9a-fA-F]+$") {
        !$0.isEmpty && $0.utf8.allSatisfy { Hexadecimal.value(of: $0) != nil }
    }

    static let uuid = TextFormat(
        "a UUID",
        pattern: "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
    ) { NotificationID($0) != nil }

    /// A duration that `Duration(iso8601:)` can read and that is not negative.
    static let duration = TextFormat(
        "a duration of ISO 8601 in days, hours, minutes and seconds, up to 366 days, such as PT1H or PT0.5S",
        pattern: "^P(?=[0-9T])(?:[0-9]{1,9}D)?"
            + "(?:T(?=[0-9])(?:[0-9]{1,9}H)?(?:[0-9]{1,9}M)?(?:[0-9]{1,9}(?:[.][0-9]{1,9})?S)?)?$"
    ) { Duration(iso8601: $0) != nil }

    static let nodeName = TextFormat("the name of a node", pattern: "^[A-Za-z0-9._-]{1,64}$") { name in
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f: true
                default: false
                }
            }
    }
    static let pem = TextFormat("text in PEM") { $0.contains("-----BEGIN ") }

    /// A text of 1 to `maximum` bytes on one line. Control characters are not allowed, because a terminal that lists
    /// the names would interpret them.
    static func line(maximumBytes maximum: Int) -> TextFormat {
        TextFormat(
            "1 to \(maximum) bytes on one line, without control characters",
            pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]+$", length: 1...maximum
        ) { text in
            (1...maximum).contains(text.utf8.count)
                && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
        }
    }

    static func oneOf(_ choices: [String]) -> TextFormat {
        TextFormat(
            "one of " + choices.joined(separator: ", "), pattern: "^(?:\(choices.joined(separator: "|")))$"
        ) { choices.contains($0) }
    }
}
