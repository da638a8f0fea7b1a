import HTTP2Core
import Testing

/// A difference from libnghttp2 1.52 that is wanted.
struct DeliberateDifference: Sendable, CustomTestStringConvertible {
    let reason: String
    /// The side that is compared.
    var role = Role.server
    /// What the peer sends after its preface, so that the difference shows with the last frame. A client has begun the
    /// stream 1, whose request has ended, and the stream 3, whose request has not.
    let example: [[UInt8]]
    let explains: @Sendable (Comparison) -> Bool

    var testDescription: String { reason }

    private static func get(_ name: String, _ value: String) -> [UInt8] {
        Wire.headers(1, Wire.get + [(name, value)])
    }
    private static func response(_ status: String, _ more: (String, String)..., endStream: Bool = true) -> [UInt8] {
        Wire.headers(1, [(":status", status)] + more, endStream: endStream)
    }
    private static let get = Wire.headers(1, Wire.get)
    private static let post = Wire.headers(1, Wire.post, endStream: false)

    static let all = endings + others

    /// Both end the connection. 5.4 does not say which of two broken rules is named.
    private static let endings: [DeliberateDifference] = [
        DeliberateDifference(
            reason: "libnghttp2 looks at a frame's length before its stream and its place, and we after them.",
            example: [Wire.frame(Wire.settings, 0, 7, [0])]
        ) { $0.ours.goAway == 1 && $0.library.goAway == 6 },
        DeliberateDifference(
            reason: "libnghttp2 counts the entries of SETTINGS before it looks at the stream.",
            example: [Wire.frame(Wire.settings, 0, 7, [UInt8](repeating: 0, count: 198))]
        ) { $0.ours.goAway == 1 && $0.library.goAway == 11 },
        DeliberateDifference(
            reason: "We compare a frame's length with SETTINGS_MAX_FRAME_SIZE before we look for CONTINUATION.",
            example: [Wire.headers(1, Wire.get, endHeaders: false), Wire.frame(Wire.ping, length: 16_385)]
        ) { $0.ours.faults.contains("RFC 9113, 4.2") && $0.ours.goAway == 6 && $0.library.goAway == 1 },
        DeliberateDifference(
            reason:
                "A frame on a half-closed (remote) stream ends libnghttp2's connection. We read on, to another error.",
            example: [get, Wire.frame(Wire.data, Wire.padded, 1, [9, 0])]
        ) { $0.ours.goAway != nil && $0.library.goAway == 5 },
        DeliberateDifference(
            reason: "libnghttp2 decodes a field block while it comes. We find first that another frame interrupts it.",
            example: [Wire.frame(Wire.headers, 0, 1, [0x80]) + Wire.ping()]
        ) {
            $0.library.goAway == 9 && !$0.ours.faults.isEmpty
                && $0.ours.faults.allSatisfy { ["RFC 9113, 6.2", "RFC 9113, 4.2"].contains($0) }
        },
        DeliberateDifference(
            reason: "libnghttp2 sends GOAWAY alone. We also send the answers to what came before in the same bytes.",
            example: [Wire.settings() + Wire.data(0, "a")]
        ) {
            $0.library.sent.count == 1 && $0.library.goAway != nil && $0.ours.goAway == $0.library.goAway
                && $0.ours.sent.allSatisfy { frame in
                    ["GOAWAY ", "RST_STREAM ", "SETTINGS ack", "PING "].contains { frame.hasPrefix($0) }
                }
        },
    ]

    private static let others: [DeliberateDifference] = [
        DeliberateDifference(
            reason:
                "libnghttp2 discards DATA on a closed stream. 6.1: a stream error, unless we have reset the stream.",
            example: [post, Wire.reset(1), Wire.data(1, "a")]
        ) { $0.isAnsweredWithStreamClosed },
        DeliberateDifference(
            reason:
                "libnghttp2 discards DATA on a closed stream. 6.1: a stream error, unless we have reset the stream.",
            role: .client, example: [Wire.reset(1), Wire.data(1, "a")]
        ) { $0.isAnsweredWithStreamClosed },
        DeliberateDifference(
            reason: "libnghttp2 discards HEADERS on a closed stream. 5.1: an error of the connection.",
            example: [post, Wire.reset(1), get]
        ) { $0.ours.faults == ["RFC 9113, 5.1"] && $0.ours.goAway == 5 },
        DeliberateDifference(
            reason: "libnghttp2 discards HEADERS on a stream that was skipped. 5.1.1: an error of the connection.",
            example: [Wire.headers(5, Wire.get), get]
        ) { $0.ours.faults == ["RFC 9113, 5.1.1"] && $0.ours.goAway == 1 },
        DeliberateDifference(
            reason: "libnghttp2 does not compare host with :authority. 8.3.1: a request is malformed if they differ.",
            example: [get("host", "b")]
        ) {
            $0.ours.faults.contains("RFC 9113, 8.3.1")
                && $0.library.events.contains { $0.hasPrefix("request") && $0.contains(" host=") }
        },
        DeliberateDifference(
            reason: "libnghttp2 allows userinfo in :authority. 8.3.1 does not.",
            example: [Wire.headers(1, Array(Wire.get.dropLast()) + [(":authority", "u@a")])]
        ) {
            $0.ours.faults.contains("RFC 9113, 8.3.1")
                && $0.library.events.contains {
                    $0.hasPrefix("request")
                        && $0.split(separator: " ").contains { $0.hasPrefix(":authority=") && $0.contains("@") }
                }
        },
        DeliberateDifference(
            reason: "libnghttp2 allows trailers on a tunnel. 8.5: a stream error.",
            example: [
                Wire.headers(1, [(":method", "CONNECT"), (":authority", "a:1")], endStream: false),
                Wire.headers(1, [("a", "b")]),
            ]
        ) { $0.ours.faults.contains("RFC 9113, 8.5") },
        DeliberateDifference(
            reason: "DATA or HEADERS on a stream that is half-closed (remote) ends libnghttp2's connection. 5.1: a "
                + "stream error.",
            example: [get, Wire.data(1, "a")]
        ) { $0.ours.faults.contains("RFC 9113, 5.1") && $0.ours.says(closed: 5) && $0.library.isFailure },
        DeliberateDifference(
            reason: "An increment of 0 for a stream ends libnghttp2's connection. 6.9: a stream error.",
            example: [get, Wire.windowUpdate(1, 0)]
        ) { $0.ours.faults.contains("RFC 9113, 6.9") && $0.ours.says(closed: 1) && $0.library.isFailure },
        DeliberateDifference(
            reason: "PRIORITY of a wrong length ends libnghttp2's connection. 6.3: a stream error.",
            example: [get, Wire.frame(Wire.priority, 0, 1, [0])]
        ) { $0.ours.faults.contains("RFC 9113, 6.3") && $0.ours.says(closed: 6) && $0.library.isFailure },
        DeliberateDifference(
            reason:
                "A stream that depends on itself ends libnghttp2's connection. RFC 9113, 5.3.2: priorities are skipped.",
            example: [Wire.frame(Wire.headers, 0x25, 1, [0, 0, 0, 1, 0] + Wire.block(Wire.get))]
        ) { $0.dependsOnItself && $0.library.goAway == 1 },
        DeliberateDifference(
            reason: "libnghttp2 reads content-length in trailers. 8.1.1 compares that of the message alone.",
            example: [post, Wire.headers(1, [("content-length", "a")])]
        ) {
            $0.library.says(closed: 1)
                && $0.ours.events.contains { $0.hasPrefix("trailers") && $0.contains("content-length=") }
        },
        DeliberateDifference(
            reason: "libnghttp2 passes on content that turns out to be less than content-length. We compare first.",
            example: [
                Wire.headers(1, Wire.post + [("content-length", "3")], endStream: false),
                Wire.data(1, "ab", endStream: true),
            ]
        ) { $0.ours.faults.contains("RFC 9113, 8.1.1") && $0.library.says(closed: 1) },
        DeliberateDifference(
            reason: "libnghttp2 refuses a GOAWAY of a client whose last stream is odd. 6.8 has no such rule.",
            example: [Wire.goAway(1)]
        ) { $0.type == Wire.goAway && $0.library.isFailure },
        DeliberateDifference(
            reason:
                "With SETTINGS_NO_RFC7540_PRIORITIES libnghttp2 does not look into PRIORITY. 6.3: the stream 0 is a "
                + "connection error.",
            example: [Wire.frame(Wire.priority, 0, 0, [0, 0, 0, 0, 7])]
        ) { $0.type == Wire.priority && $0.ours.faults.contains("RFC 9113, 6.3") && !$0.library.isFailure },
        DeliberateDifference(
            reason: "SETTINGS that make a window too large reset libnghttp2's stream. 6.9.2: a connection error.",
            example: [post, Wire.windowUpdate(1, 0x7fff_0000), Wire.settings([(4, 65_536)])]
        ) { $0.ours.faults.contains("RFC 9113, 6.9.2") && $0.library.says(closed: 3) },
        DeliberateDifference(
            reason: "libnghttp2 refuses a request that has neither :authority nor host. 8.3.1 requires neither.",
            example: [Wire.headers(1, Wire.get.filter { $0.0 != ":authority" })]
        ) {
            $0.library.says(closed: 1)
                && $0.ours.events.contains {
                    $0.hasPrefix("request") && !$0.contains(" :authority=") && !$0.contains(" host=")
                }
        },
        DeliberateDifference(
            reason:
                "libnghttp2 does not compare the length of CONTINUATION with SETTINGS_MAX_FRAME_SIZE. 4.2: an error.",
            example: [
                Wire.headers(1, Wire.get, endHeaders: false) + Wire.frame(Wire.continuation, 4, 1, length: 16_385)
            ]
        ) { $0.ours.faults.contains("RFC 9113, 4.2") && !$0.library.isFailure },
        DeliberateDifference(
            reason: "libnghttp2 does not look at the padding of DATA that it ignores. 6.1: a connection error.",
            example: [get, Wire.reset(1), Wire.frame(Wire.data, Wire.padded, 1, [9, 0])]
        ) { $0.type == Wire.data && $0.ours.faults.contains("RFC 9113, 6.1") && $0.library == Verdict() },
        DeliberateDifference(
            reason:
                "After GOAWAY and the last stream libnghttp2 reads nothing more. We read on until the caller closes.",
            example: [Wire.goAway(0), Wire.ping()]
        ) { $0.isFinished && $0.library == Verdict() },
        DeliberateDifference(
            reason: "libnghttp2 refuses a content-length that is repeated. RFC 9110, 8.6, allows to take equal ones.",
            example: [Wire.headers(1, Wire.get + [("content-length", "0"), ("content-length", "0")])]
        ) {
            $0.ours.faults.isEmpty && $0.library.says(closed: 1)
                && $0.ours.events.contains { $0.split(separator: "content-length=").count > 2 }
        },
        DeliberateDifference(
            reason: "libnghttp2 decodes a field block while it comes. We wait for its end, and say then what is wrong.",
            example: [Wire.frame(Wire.headers, 0, 1, [0x80])]
        ) { $0.isWaiting && $0.ours == Verdict() },
        DeliberateDifference(
            reason: "DATA before the response ends libnghttp2's connection. 8.1: the response is malformed.",
            role: .client, example: [Wire.data(1, "a")]
        ) { $0.ours.faults.contains("RFC 9113, 8.1") && $0.ours.says(closed: 1) && $0.library.isFailure },
        DeliberateDifference(
            reason: "libnghttp2 refuses a GOAWAY of a server whose last stream is even. 6.8 has no such rule.",
            role: .client, example: [Wire.goAway(2)]
        ) { $0.type == Wire.goAway && $0.library.isFailure },
        DeliberateDifference(
            reason:
                "HEADERS on a stream that is half-closed (remote) ends libnghttp2's connection. 5.1: a stream error.",
            role: .client,
            example: [
                Wire.headers(3, [(":status", "200")]), Wire.headers(3, [("a", "b")]),
            ]
        ) { $0.ours.faults.contains("RFC 9113, 5.1") && $0.ours.says(closed: 5) && $0.library.isFailure },
        DeliberateDifference(
            reason:
                "libnghttp2 takes any three digits as :status. RFC 9110, 15: it is 100 to 599, and we take up to 999.",
            role: .client, example: [response("099")]
        ) { $0.ours.faults.contains("RFC 9113, 8.3.2") && !$0.library.isFailure },
        DeliberateDifference(
            reason: "libnghttp2 removes content-length from a response with 204. We pass on what came.",
            role: .client, example: [response("204", ("content-length", "5"))]
        ) { $0.ours.events.contains { $0.contains(":status=204 ") && $0.contains("content-length=") } },
        DeliberateDifference(
            reason: "libnghttp2 refuses content-length in an interim response. RFC 9113 has no such rule.",
            role: .client, example: [response("103", ("content-length", "5"), endStream: false)]
        ) {
            $0.library.says(closed: 1)
                && $0.ours.events.contains { $0.hasPrefix("interim") && $0.contains("content-length=") }
        },
        DeliberateDifference(
            reason: "libnghttp2 allows te in a response. 8.2.2 allows it in requests alone.",
            role: .client, example: [response("200", ("te", "trailers"))]
        ) { $0.ours.faults.contains("RFC 9113, 8.2.2") && !$0.library.says(closed: 1) },
    ]
}

extension Comparison {
    /// Whether only we answer DATA with RST_STREAM and STREAM_CLOSED.
    fileprivate var isAnsweredWithStreamClosed: Bool {
        let resets = ours.sent.filter { $0.hasPrefix("RST_STREAM ") && $0.hasSuffix(" 5") }
        return type == Wire.data && !resets.isEmpty && !library.isFailure && !library.sent.contains(resets[0])
    }

    /// Whether the frame is HEADERS whose priority names its own stream.
    fileprivate var dependsOnItself: Bool {
        guard type == Wire.headers, frame.count > 14, frame[4] & Wire.hasPriority != 0 else { return false }
        let start = frame[4] & Wire.padded != 0 ? 10 : 9
        return frame[start..<start + 4].elementsEqual(frame[5..<9])
    }
}

extension Verdict {
    /// The code of the GOAWAY that was sent; nil if none was.
    fileprivate var goAway: Int? {
        sent.first { $0.hasPrefix("GOAWAY ") }.flatMap { Int($0.dropFirst(7)) }
    }
}
