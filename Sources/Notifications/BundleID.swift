/// The bundle ID of an app, from which its topics follow.
package struct BundleID: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// In bytes. Bundle IDs in use stay well below; with the longest suffix a topic still fits the 255 bytes that
    /// names of all kinds get elsewhere.
    package static let maximumBytes = 200

    package let rawValue: String

    /// - Returns: nil unless `rawValue` is 1 to ``maximumBytes`` bytes of letters, digits, hyphens and periods, which
    ///   is what a bundle ID may hold, and neither begins nor ends with a period.
    package init?(rawValue: String) {
        let bytes = rawValue.utf8
        guard (1...Self.maximumBytes).contains(bytes.count), bytes.allSatisfy(Self.allows),
            bytes.first != UInt8(ascii: "."), bytes.last != UInt8(ascii: ".")
        else { return nil }
        self.rawValue = rawValue
    }

    /// The topic of this app for notifications of the given kind.
    package func topic(_ kind: TopicKind) -> String { rawValue + kind.suffix }

    /// In bytes: the longest bundle ID with the longest suffix.
    package static let maximumTopicBytes = maximumBytes + (TopicKind.allCases.map(\.suffix.utf8.count).max() ?? 0)

    /// Whether a topic can have this name: a bundle ID, or one with a suffix.
    package static func isTopic(_ name: String) -> Bool {
        BundleID(rawValue: name) != nil
            || TopicKind.allCases.contains { kind in
                name.hasSuffix(kind.suffix) && BundleID(rawValue: String(name.dropLast(kind.suffix.count))) != nil
            }
    }

    /// The topics that a provider certificate for this app lists (Guide, 2.3.2).
    package var certificateTopics: [String] {
        [topic(.app), topic(.voip), topic(.complication)]
    }

    package var description: String { rawValue }

    private static func allows(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
