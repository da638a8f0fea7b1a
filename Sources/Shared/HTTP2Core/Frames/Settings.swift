/// The number of a setting (RFC 9113, 6.5.2; RFC 9218, 2.1).
package struct Setting: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    static let byteCount = 6

    package static let headerTableSize = Setting(rawValue: 0x1)
    package static let enablePush = Setting(rawValue: 0x2)
    package static let maxConcurrentStreams = Setting(rawValue: 0x3)
    package static let initialWindowSize = Setting(rawValue: 0x4)
    package static let maxFrameSize = Setting(rawValue: 0x5)
    package static let maxHeaderListSize = Setting(rawValue: 0x6)
    package static let noRFC7540Priorities = Setting(rawValue: 0x9)
}

/// The settings of one side (RFC 9113, 6.5.2), with the protocol's initial values.
package struct Settings: Hashable, Sendable {
    package internal(set) var headerTableBytes = 4_096
    /// Has an effect only as a client's setting.
    package internal(set) var enablesPush = true
    /// nil: no limit.
    package internal(set) var maxConcurrentStreams: Int?
    package internal(set) var streamWindowBytes = 65_535
    package internal(set) var maxFrameBytes = 16_384
    /// nil: no limit.
    package internal(set) var maxHeaderListBytes: Int?

    /// The values that SETTINGS_MAX_FRAME_SIZE may have.
    static let frameSizes = 16_384...16_777_215

    /// Applies one setting of the peer. A setting that is not known is ignored (RFC 9113, 6.5.2).
    mutating func apply(_ setting: Setting, _ value: UInt32, from role: Role) throws(Fault) {
        switch setting {
        case .headerTableSize:
            headerTableBytes = Int(clamping: value)
        case .enablePush:
            guard value <= 1 else {
                throw Fault(.protocolError, "RFC 9113, 6.5.2", "SETTINGS_ENABLE_PUSH is neither 0 nor 1")
            }
            guard value == 0 || role == .client else {
                throw Fault(.protocolError, "RFC 9113, 6.5.2", "a server's SETTINGS_ENABLE_PUSH is 1")
            }
            enablesPush = value == 1
        case .maxConcurrentStreams:
            maxConcurrentStreams = Int(clamping: value)
        case .initialWindowSize:
            guard value <= UInt32(Window.maximum) else {
                throw Fault(.flowControlError, "RFC 9113, 6.5.2", "SETTINGS_INITIAL_WINDOW_SIZE exceeds 2^31-1")
            }
            streamWindowBytes = Int(value)  // fits: 32 bits
        case .maxFrameSize:
            guard Self.frameSizes.contains(Int(clamping: value)) else {
                throw Fault(.protocolError, "RFC 9113, 6.5.2", "SETTINGS_MAX_FRAME_SIZE is outside of its range")
            }
            maxFrameBytes = Int(value)  // fits: 32 bits
        case .maxHeaderListSize:
            maxHeaderListBytes = Int(clamping: value)
        case .noRFC7540Priorities:
            // RFC 9218, 2.1. Nobody's priorities have an effect here, so the value does not either.
            guard value <= 1 else {
                throw Fault(.protocolError, "RFC 9218, 2.1", "SETTINGS_NO_RFC7540_PRIORITIES is neither 0 nor 1")
            }
        default:
            break
        }
    }
}
