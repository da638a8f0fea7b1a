/// The limits and sizes of an endpoint. The defaults suit small requests with small answers.
package struct EndpointLimits: Sendable {
    /// Server: the largest number of streams that the client may have open. Client: the largest number of open
    /// requests, even if the server allows more. 1,000 is what the service allows a provider.
    package var maxConcurrentStreams = 1_000

    /// Server: SETTINGS_MAX_CONCURRENT_STREAMS of the first SETTINGS, at most `maxConcurrentStreams`.
    package var announcedConcurrentStreams = 1_000

    /// Client: the largest number of open requests before the server's SETTINGS have come. RFC 9113 (6.5.2) recommends
    /// that servers allow at least 100.
    package var concurrentStreamsBeforeSettings = 100

    /// The largest list of fields, in bytes, counted as for SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113, 6.5.2). APNs
    /// allows 8,000. Fields beyond it are counted but not kept.
    package var maxHeaderListBytes = 8_000

    /// A list that exceeds its limit this many times ends the connection. In an HPACK bomb one byte on the wire stands
    /// for up to 4 KiB of fields. Honest clients send at most some 30 KB of cookies, which is less.
    package var headerBombFactor = 8

    /// The window for what the peer sends on each stream, in bytes (RFC 9113, 6.9.2).
    package var streamWindowBytes = 65_535

    /// The window for what the peer sends on the whole connection, in bytes. 1 MiB is 200 notifications of 5 KB.
    /// Received bytes are not kept here, so it needs no buffer.
    package var connectionWindowBytes = 1_048_576

    /// The largest dynamic table in each direction, in bytes (RFC 7541, 4.2). It is the protocol's initial value.
    package var headerTableBytes = 4_096

    /// The largest frame that is accepted, in bytes. No smaller value is allowed (RFC 9113, 6.5.2). A frame that is not
    /// DATA is kept until it is complete, so this is also the largest buffer for one.
    package var maxFrameBytes = 16_384

    /// The largest number of CONTINUATION frames after one HEADERS (CVE-2024-28182).
    package var maxContinuations = 8

    /// The largest field block, in compressed bytes: HEADERS and eight CONTINUATION frames of 16 KiB.
    package var maxFieldBlockBytes = 147_456

    /// The largest number of entries in one SETTINGS frame. Seven kinds are in use.
    package var maxSettingsEntries = 32

    /// The largest number of frames that answer the peer's frames, such as acknowledgements and resets, and were not
    /// taken from the output because the peer does not read (CVE-2019-9512, CVE-2019-9515). Three for each of 1,000
    /// streams and 1,000 acknowledgements fit.
    package var maxUnsentReplies = 4_096

    /// The rates of frames that cost us more than the peer.
    package var flood = FloodLimits()

    /// Server: whether values may begin or end with a blank (RFC 9113, 8.2.1), and paths may have blanks (8.3.1), which the
    /// RFC forbids. The application can answer what is wrong with the value, while some clients wait in vain after a
    /// stream error.
    package var allowsBlanksAroundValues = false

    /// Client: whether a request whose fields break a rule is refused instead of sent. Tests send such requests.
    package var checksSentFields = true

    package init() {}
}
