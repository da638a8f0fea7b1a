/// The bundle ID of an app, from which its topics follow.
package struct BundleID: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The largest size in bytes. Real bundle IDs are far shorter. With the longest suffix, a topic still has less
    /// than 255 bytes, which is the limit for names in other places.
    package static let maximumBytes = 200

    package let rawValue: String

    /// - Returns: nil unless `rawValue` has 1 to ``maximumBytes`` letters, digits, hyphens and periods, and neither
    ///   begins nor ends with a period.
    package init?(rawValue: String) {
        let bytes = rawValue.utf8
        guard (1...Self.maximumBytes).contains(bytes.count), bytes.allSatisfy(Self.allows),
            bytes.first != UInt8(ascii: "."), bytes.last != UInt8(ascii: ".")
        else { return nil }
        self.rawValue = rawValue
    }

    /// The topic of this app for notifications of the given kind.
    package func topic(_ kind: TopicKind) -> String { rawValue + kind.suffix }

    /// The length of the longest bundle ID with the longest suffix, in bytes.
    package static let maximumTopicBytes = maximumBytes + (TopicKind.allCases.map(\.suffix.utf8.count).max() ?? 0)

    /// Whether a topic can have this name: a bundle ID, or a bundle ID and a suffix.
    package static func isTopic(_ name: String) -> Bool {
        BundleID(rawValue: name) != nil
            || TopicKind.allCases.contains { kind in
                name.hasSuffix(kind.suffix) && BundleID(rawValue: String(name.dropLast(kind.suffix.count))) != nil
            }
    }

    /// Whether a topic is one of device management: the UID that Apple gives to the certificates of management servers. No
    /// app has such a bundle ID.
    package static func isOfDeviceManagement(_ topic: String) -> Bool { topic.hasPrefix("com.apple.mgmt.") }

    /// The topics that a provider certificate for this app lists (Guide, 2.3.2).
    package var certificateTopics: [String] {
        TopicKind.allCases.filter { $0.certificateEntry?.listed == $0 }.map(topic)
    }

    package var description: String { rawValue }

    private static func allows(_ byte: UInt8) -> Bool {
        byte.isLetterOrDigit || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
    }
}
