import HTTP2Core
import Rates

// Between the session's types and those of `HTTP2Core`.

extension StreamID {
    init(_ stream: HTTP2Core.StreamID) { self.init(Int32(bitPattern: stream.rawValue & 0x7fff_ffff)) }

    var ofCore: HTTP2Core.StreamID { HTTP2Core.StreamID(UInt32(bitPattern: rawValue)) }
}

extension HeaderForm {
    init(_ form: FieldForm) {
        switch form {
        case .indexed: self = .indexed
        case .incremental: self = .incremental
        case .withoutIndexing: self = .withoutIndexing
        case .neverIndexed: self = .neverIndexed
        }
    }
}

extension FloodGuard.Kind {
    /// nil for a limit that is not a flood of its own to the session's users.
    init?(_ kind: FloodKind) {
        switch kind {
        case .resets: self = .resets
        case .settings: self = .settings
        case .pings: self = .pings
        case .idleFrames: self = .idleFrames
        case .ignoredBytes: self = .ignoredBytes
        case .headers: self = .headers
        case .continuations: self = .continuations
        case .unsentReplies: self = .acknowledgements
        case .settingsEntries: return nil
        }
    }
}

extension EndpointLimits {
    init(_ configuration: HTTP2Configuration) {
        self.init()
        maxConcurrentStreams = configuration.maxConcurrentStreams
        announcedConcurrentStreams = configuration.announcedConcurrentStreams
        concurrentStreamsBeforeSettings = configuration.concurrentStreamsBeforeSettings
        maxHeaderListBytes = configuration.maxHeaderListBytes
        headerBombFactor = configuration.headerBombFactor
        streamWindowBytes = configuration.streamWindowBytes
        connectionWindowBytes = configuration.connectionWindowBytes
        headerTableBytes = configuration.headerTableBytes
        maxFrameBytes = configuration.maxFrameBytes
        maxContinuations = configuration.maxContinuations
        maxSettingsEntries = configuration.maxSettingsEntries
        flood = configuration.flood
        // The application answers what is wrong with a value, instead of a stream error that some clients wait for in
        // vain.
        allowsBlanksAroundValues = true
    }
}

extension HeaderBlock {
    /// Copies the fields to a list.
    func copy(to list: inout FieldList, literals: HTTP2Configuration.Literals) {
        list.removeAll()
        bytes.withUnsafeBufferPointer { arena in
            for field in fields {
                let (name, value) = (field.name.bytes(in: arena), field.value.bytes(in: arena))
                list.append(name.span, value.span, field.form(literals))
            }
        }
    }
}

extension HeaderBlock.Field {
    fileprivate func form(_ literals: HTTP2Configuration.Literals) -> FieldForm {
        switch (indexing, literals) {
        case (.indexed, _): .incremental
        case (.never, .neverIndexed): .neverIndexed
        case (.never, .withoutIndexing): .withoutIndexing
        }
    }
}

extension HeaderBlock.Piece {
    fileprivate func bytes(in arena: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        switch self {
        case .literal(let text): UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        case .bytes(let offset, let count): UnsafeBufferPointer(rebasing: arena[offset..<offset + count])
        }
    }
}
