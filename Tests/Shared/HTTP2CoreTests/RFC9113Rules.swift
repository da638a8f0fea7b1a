extension Rule {
    private static let noPush = "Nothing here pushes, and a client forbids it: PUSH_PROMISE is a connection error."
    private static let noIntermediary = "Nothing here forwards messages of others."
    private static let noProxy = "Nothing here opens a TCP connection for CONNECT."
    private static let application = "The application decides it: the core does not read or write this field's meaning."

    /// RFC 9113, sections 3 to 8, in the order of its text.
    static let ofRFC9113: [Rule] = section3 + section4 + section5 + section6 + section6Control + section7 + section8

    private static let section3: [Rule] = [
        Rule(
            "3.2", "h2c is neither offered nor chosen in TLS.",
            because: "ALPN belongs to TLS. All our contexts offer h2 alone for HTTP/2 (applicationProtocols)."),
        Rule("3.2", "Both send a preface after TLS.", "RFC 9113, 3.4: both sides send their preface first"),
        Rule(
            "3.3", "Over TLS the protocol is negotiated by ALPN.",
            because: "ALPN belongs to TLS. All our contexts offer h2 alone for HTTP/2 (applicationProtocols)."),
        Rule(
            "3.3", "A server with prior knowledge sends its preface too.",
            "RFC 9113, 3.4: both sides send their preface first"),
        Rule(
            "3.4", "SETTINGS follows the client's first 24 bytes.",
            "RFC 9113, 3.4: both sides send their preface first",
            "RFC 9113, 3.4: the first frame of both sides must be SETTINGS"),
        Rule(
            "3.4", "A server's first frame is SETTINGS.", "RFC 9113, 3.4: both sides send their preface first",
            "RFC 9113, 3.4: the first frame of both sides must be SETTINGS"),
        Rule(
            "3.4", "The peer's first SETTINGS are acknowledged after our preface.",
            "RFC 9113, 3.4: the first SETTINGS are acknowledged after the own preface"),
        Rule(
            "3.4", "A wrong preface is a connection error.",
            "RFC 9113, 3.4: other first bytes than the preface end the connection without GOAWAY",
            "RFC 9113, 3.4: the first frame of both sides must be SETTINGS"),
    ]

    private static let section4: [Rule] = [
        Rule(
            "4.1", "No frame of more than 16,384 bytes is sent unless the peer's setting allows it.",
            "RFC 9113, 4.2: no frame is larger than the peer's SETTINGS_MAX_FRAME_SIZE",
            "RFC 9113, 6.2 and 6.10: a large field block is sent in frames that follow each other"),
        Rule(
            "4.1", "Frames of unknown types are discarded.",
            "RFC 9113, 4.1 and 5.5: frames of unknown types are discarded"),
        Rule(
            "4.1", "Unused flags are ignored, and not set when sending.",
            "RFC 9113, 4.1: unused flags and the reserved bit are ignored",
            "RFC 9113, 4.1: unused flags and the reserved bit are not set in any frame that is sent"),
        Rule(
            "4.1", "The reserved bit is ignored, and not set when sending.",
            "RFC 9113, 4.1: unused flags and the reserved bit are ignored",
            "RFC 9113, 4.1: unused flags and the reserved bit are not set in any frame that is sent"),
        Rule(
            "4.2", "Frames of 16,384 bytes are read.", "RFC 9113, 4.2: a frame of 16,384 bytes is read"),
        Rule(
            "4.2", "A frame that is too large, or too small for its fields, has the error FRAME_SIZE_ERROR.",
            "DATA exceeds SETTINGS_MAX_FRAME_SIZE", "HEADERS is too short for its priority", "GOAWAY is too short"),
        Rule(
            "4.2", "A wrong size of a frame that could change the connection is a connection error.",
            "HEADERS exceeds SETTINGS_MAX_FRAME_SIZE", "an unknown frame exceeds SETTINGS_MAX_FRAME_SIZE",
            "SETTINGS does not have a multiple of 6 bytes"),
        Rule(
            "4.3", "The frames of a field block follow each other.",
            "RFC 9113, 6.2 and 6.10: a large field block is sent in frames that follow each other",
            "PING within a field block"),
        Rule(
            "4.3", "Each field block is decoded, also of a frame that is discarded.",
            "RFC 9113, 5.1: closed: a field block changes the compression state",
            "RFC 9113, 6.8: streams above the last one of our GOAWAY are ignored, but decoded"),
        Rule(
            "4.3", "A decoding error is a connection error.", "a field block ends within a field",
            "a field block ends within a text"),
        Rule(
            "4.3.1", "After a limit below the table's size, our encoder begins with a change of the size.",
            "RFC 7541, 4.2: the encoder announces the smallest and the last size"),
        Rule(
            "4.3.1", "A block that does not begin with the change is a connection error.",
            "RFC 7541, 4.2: after a reduced limit the block has to begin with a change of the size",
            "RFC 9113, 4.3.1: until the peer has acknowledged the size 0, its table is as large as before"),
    ]

    private static let section5: [Rule] = [
        Rule(
            "5.1", "idle: a frame other than HEADERS and PRIORITY is a connection error.", "DATA on an idle stream",
            "WINDOW_UPDATE for an idle stream", "RST_STREAM for an idle stream",
            "RFC 9113, 6.3: PRIORITY has no effect on a stream in any state"),
        Rule(
            "5.1", "idle: HEADERS of a server without a promise is a connection error.",
            "a server opens a stream without a promise", "HEADERS on a stream that the client did not open"),
        Rule("5.1", "reserved (local): only some frames are sent and received.", because: noPush),
        Rule("5.1", "reserved (remote): only some frames are sent and received.", because: noPush),
        Rule(
            "5.1", "half-closed (local): no DATA and HEADERS are sent.",
            "RFC 9113, 5.1: half-closed (local): no DATA and HEADERS are sent"),
        Rule(
            "5.1", "half-closed (remote): DATA and HEADERS are the stream error STREAM_CLOSED.",
            "RFC 9113, 5.1: half-closed (remote): DATA is the stream error STREAM_CLOSED",
            "RFC 9113, 5.1: half-closed (remote): HEADERS is the stream error STREAM_CLOSED"),
        Rule("5.1", "closed: nothing is sent.", "RFC 9113, 5.1: nothing is sent on a closed stream"),
        Rule(
            "5.1", "closed: after our RST_STREAM, what was under way is discarded.",
            "RFC 9113, 5.1: closed: frames that were under way are discarded"),
        Rule(
            "5.1.1", "A client's streams are odd, and a server's even.",
            "RFC 9113, 5.1.1: a client opens odd streams in rising order",
            "a client opens a stream with an even number"),
        Rule(
            "5.1.1", "A new stream has a greater number than all before.",
            "RFC 9113, 5.1.1: a client opens odd streams in rising order",
            "RFC 9113, 5.1.1: a client whose numbers are used up opens no stream"),
        Rule(
            "5.1.1", "A number that is not the client's is a connection error.",
            "a client opens a stream with an even number"),
        Rule(
            "5.1.1", "A number below an earlier one is a connection error.", "a client opens a stream that it skipped",
            "HEADERS on a closed stream"),
        Rule(
            "6.1", "DATA on a closed stream is the stream error STREAM_CLOSED.",
            "RFC 9113, 6.1: DATA on a stream that both have ended is the stream error STREAM_CLOSED",
            "RFC 9113, 5.1: DATA on a stream that the peer has reset is the stream error STREAM_CLOSED"),
        Rule(
            "5.1.2", "No more streams are open than the peer allows.",
            "RFC 9113, 5.1.2: a client opens no more streams than the server allows"),
        Rule(
            "5.1.2", "A stream too many is a stream error.",
            "RFC 9113, 5.1.2: a stream too many is refused with REFUSED_STREAM"),
        Rule(
            "5.2.1", "A sender keeps to the receiver's windows.",
            "RFC 9113, 6.9.1: no more is sent than the stream's window",
            "RFC 9113, 6.9.1: no more is sent than the connection's window"),
        Rule(
            "5.2.2", "Frames are read as soon as they come.",
            "RFC 9113, 5.2.2: control frames are read while windows are closed"),
        Rule(
            "5.4", "A connection error is reported.",
            "RFC 9113, 5.4.1: GOAWAY has the last stream and the code, and nothing is read after the error"),
        Rule(
            "5.4.1", "After GOAWAY of an error the TCP connection is closed.",
            "RFC 9113, 5.4.1: the channel is closed after the GOAWAY of a connection error"),
        Rule(
            "5.4.2", "After RST_STREAM, frames that were under way are received.",
            "RFC 9113, 5.1: closed: frames that were under way are discarded"),
        Rule(
            "5.4.2", "RST_STREAM does not answer RST_STREAM.",
            "RFC 9113, 5.4.2: RST_STREAM does not answer RST_STREAM"),
        Rule(
            "5.5", "Unknown values and frames are ignored.",
            "RFC 9113, 4.1 and 5.5: frames of unknown types are discarded",
            "RFC 9113, 6.5.2: unknown settings are ignored",
            "RFC 9113, 7: unknown error codes have no special effect"),
        Rule(
            "5.5", "An unknown frame within a field block is a connection error.",
            "an unknown frame within a field block (5.5)"),
        Rule("5.5", "An extension is negotiated before it is used.", because: "Nothing here is an extension."),
    ]

    private static let section6: [Rule] = [
        Rule(
            "6.1", "Padding consists of zeros.",
            "RFC 9113, 4.1: unused flags and the reserved bit are not set in any frame that is sent"),
        Rule("6.1", "DATA with the stream 0 is a connection error.", "DATA has the stream 0"),
        Rule(
            "6.1", "DATA of a stream that is half-closed (remote) is the stream error STREAM_CLOSED.",
            "RFC 9113, 5.1: half-closed (remote): DATA is the stream error STREAM_CLOSED"),
        Rule(
            "6.1", "DATA of a closed stream: 5.1 allows to discard what might have been under way.",
            "RFC 9113, 5.1: closed: frames that were under way are discarded"),
        Rule(
            "6.1", "Padding as long as the payload is a connection error.",
            "the padding of DATA is as long as its payload", "DATA with padding is empty"),
        Rule("6.1", "Padding counts for the windows.", "RFC 9113, 6.1: padding counts for flow control"),
        Rule(
            "6.2", "CONTINUATION follows HEADERS without END_HEADERS, and nothing else.",
            "PING within a field block", "HEADERS of another stream within a field block (8.1)",
            "RFC 9113, 6.2 and 6.10: a large field block is sent in frames that follow each other"),
        Rule("6.2", "HEADERS with the stream 0 is a connection error.", "HEADERS has the stream 0"),
        Rule(
            "6.2", "Padding as long as the payload is a connection error.",
            "the padding of HEADERS is as long as its payload"),
        Rule("6.3", "PRIORITY with the stream 0 is a connection error.", "PRIORITY has the stream 0"),
        Rule(
            "6.3", "PRIORITY of another length than 5 is a stream error.",
            "RFC 9113, 6.3: PRIORITY of an open stream that does not have 5 bytes is a stream error",
            "PRIORITY of an idle stream does not have 5 bytes"),
        Rule(
            "6.4", "After RST_STREAM came, nothing is sent on the stream.",
            "RFC 9113, 5.1: nothing is sent on a closed stream"),
        Rule(
            "6.4", "After we sent RST_STREAM, further frames are read.",
            "RFC 9113, 5.1: closed: frames that were under way are discarded"),
        Rule("6.4", "RST_STREAM with the stream 0 is a connection error.", "RST_STREAM has the stream 0"),
        Rule(
            "6.4", "RST_STREAM is not sent for an idle stream.",
            "RFC 9113, 6.4: RST_STREAM is not sent for an idle stream",
            "PRIORITY of an idle stream does not have 5 bytes"),
        Rule("6.4", "RST_STREAM for an idle stream is a connection error.", "RST_STREAM for an idle stream"),
        Rule("6.4", "RST_STREAM of another length than 4 is a connection error.", "RST_STREAM does not have 4 bytes"),
    ]

    private static let section6Control: [Rule] = [
        Rule("6.5", "Both send SETTINGS at the start.", "RFC 9113, 3.4: both sides send their preface first"),
        Rule(
            "6.5", "All settings of the RFC are supported.", "RFC 9113, 6.5: the last value of a setting counts",
            "RFC 9113, 6.9.2: a setting changes the windows of open streams, which may become negative",
            "RFC 9113, 4.2: no frame is larger than the peer's SETTINGS_MAX_FRAME_SIZE",
            "RFC 7541, 4.2: the encoder announces the smallest and the last size"),
        Rule(
            "6.5", "An acknowledgement has no payload. One with a payload is a connection error.",
            "an acknowledgement of SETTINGS has a payload", "RFC 9113, 6.5.3: SETTINGS are acknowledged at once"),
        Rule("6.5", "SETTINGS has the stream 0.", "SETTINGS has another stream than 0"),
        Rule(
            "6.5", "A badly formed SETTINGS is a connection error.", "SETTINGS does not have a multiple of 6 bytes"),
        Rule(
            "6.5.2", "A client that has forbidden pushing treats PUSH_PROMISE as a connection error.",
            "a server pushes although SETTINGS_ENABLE_PUSH is 0", "RFC 9113, 6.5.2: a push is a connection error"),
        Rule(
            "6.5.2", "SETTINGS_ENABLE_PUSH is 0 or 1.", "SETTINGS_ENABLE_PUSH is 2"),
        Rule(
            "6.5.2", "A server does not set SETTINGS_ENABLE_PUSH to 1.",
            "RFC 9113, 3.4: both sides send their preface first", "a server's SETTINGS_ENABLE_PUSH is 1"),
        Rule(
            "6.5.2", "SETTINGS_INITIAL_WINDOW_SIZE is at most 2^31-1.", "SETTINGS_INITIAL_WINDOW_SIZE is 2^31"),
        Rule(
            "6.5.2", "SETTINGS_MAX_FRAME_SIZE is 16,384 to 2^24-1.", "SETTINGS_MAX_FRAME_SIZE is 16,383",
            "SETTINGS_MAX_FRAME_SIZE is 2^24"),
        Rule("6.5.2", "Unknown settings are ignored.", "RFC 9113, 6.5.2: unknown settings are ignored"),
        Rule(
            "6.5.3", "Settings apply as soon as they come, in their order.",
            "RFC 9113, 6.5: the last value of a setting counts"),
        Rule(
            "6.5.3", "SETTINGS are acknowledged at once.", "RFC 9113, 6.5.3: SETTINGS are acknowledged at once",
            "SETTINGS are acknowledged that were not sent",
            "RFC 9113, 6.5.3: streams beyond a smaller number are served until it is acknowledged"),
        Rule("6.6", "The rules for sending PUSH_PROMISE.", because: noPush),
        Rule("6.6", "PUSH_PROMISE with the stream 0 is a connection error.", "PUSH_PROMISE has the stream 0"),
        Rule(
            "6.6", "PUSH_PROMISE to a client that has forbidden it is a connection error.",
            "a server pushes although SETTINGS_ENABLE_PUSH is 0"),
        Rule("6.7", "PING has 8 bytes. Another length is a connection error.", "PING does not have 8 bytes"),
        Rule(
            "6.7", "PING is answered with its payload and ACK.", "RFC 9113, 6.7: PING is answered with its payload"),
        Rule("6.7", "PING with ACK is not answered.", "RFC 9113, 6.7: the answer to PING is not answered"),
        Rule("6.7", "PING with another stream than 0 is a connection error.", "PING has another stream than 0"),
        Rule("6.8", "After GOAWAY came, no stream is opened.", "RFC 9113, 6.8: after GOAWAY no stream is opened"),
        Rule("6.8", "GOAWAY with another stream than 0 is a connection error.", "GOAWAY has another stream than 0"),
        Rule(
            "6.8", "The last stream of GOAWAY does not increase.",
            "RFC 9113, 6.8: the last stream of our GOAWAY does not increase", "the last stream of GOAWAY increases"),
        Rule(
            "6.8", "Field blocks and DATA above the last stream of our GOAWAY change the connection's state.",
            "RFC 9113, 6.8: streams above the last one of our GOAWAY are ignored, but decoded",
            "RFC 9113, 6.8: DATA above the last stream of our GOAWAY counts for the connection's window"),
        Rule(
            "6.8", "Debug data that is stored is protected.",
            because: "The core stores none. Its own debug data are constants without bytes of the peer (Fault)."),
        Rule(
            "6.9", "Frames without flow control are read, whatever the windows are.",
            "RFC 9113, 5.2.2: control frames are read while windows are closed"),
        Rule(
            "6.9", "An increment of 0 is a stream error, and for the connection a connection error.",
            "RFC 9113, 6.9: an increment of 0 is a stream error", "the increment of the connection's window is 0"),
        Rule(
            "6.9", "WINDOW_UPDATE of a half-closed or closed stream is no error.",
            "RFC 9113, 6.9: WINDOW_UPDATE of a closed stream is not an error",
            "RFC 9113, 5.1: half-closed (remote): WINDOW_UPDATE, PRIORITY and RST_STREAM are allowed"),
        Rule(
            "6.9", "DATA counts for the connection's window, also if it is in error.",
            "RFC 9113, 6.9: DATA of a closed stream counts for the connection's window"),
        Rule(
            "6.9", "WINDOW_UPDATE of another length than 4 is a connection error.",
            "WINDOW_UPDATE does not have 4 bytes"),
        Rule(
            "6.9.1", "No DATA is sent beyond either window.",
            "RFC 9113, 6.9.1: no more is sent than the stream's window",
            "RFC 9113, 6.9.1: no more is sent than the connection's window"),
        Rule(
            "6.9.1", "A window above 2^31-1 ends the stream, or the connection.",
            "RFC 9113, 6.9.1: a stream's window above 2^31-1 is a stream error",
            "the connection's window exceeds 2^31-1"),
        Rule(
            "6.9.2", "Before SETTINGS came, the initial window applies.",
            "RFC 9113, 6.9.2: before SETTINGS came, a client sends no more than the initial window"),
        Rule(
            "6.9.2", "A new initial window changes the windows of all streams by the difference.",
            "RFC 9113, 6.9.2: a setting changes the windows of open streams, which may become negative"),
        Rule(
            "6.9.2", "With a negative window nothing is sent until it is positive.",
            "RFC 9113, 6.9.2: a setting changes the windows of open streams, which may become negative"),
        Rule(
            "6.9.2", "SETTINGS do not change the connection's window.",
            "RFC 9113, 6.9.2: a setting does not change the connection's window"),
        Rule(
            "6.9.2", "A setting that makes a window exceed 2^31-1 is a connection error.",
            "a setting makes a stream's window exceed 2^31-1"),
        Rule(
            "6.9.3", "Until a smaller window is acknowledged, more is received.",
            "RFC 9113, 6.9.3: until a smaller window is acknowledged, the larger one applies"),
        Rule(
            "6.10", "Another frame after CONTINUATION without END_HEADERS is a connection error.",
            "RFC 9113, 6.10: another frame after an open CONTINUATION is a connection error"),
        Rule("6.10", "CONTINUATION with the stream 0 is a connection error.", "CONTINUATION has the stream 0"),
        Rule(
            "6.10", "CONTINUATION follows an open field block. Otherwise it is a connection error.",
            "CONTINUATION follows a complete block", "CONTINUATION follows DATA",
            "RFC 9113, 6.10: CONTINUATION continues a field block, and HEADERS had END_STREAM"),
    ]

    private static let section7: [Rule] = [
        Rule(
            "7", "Unknown error codes have no special effect.",
            "RFC 9113, 7: unknown error codes have no special effect")
    ]

    private static let section8: [Rule] = [
        Rule(
            "8.1", "No other frame comes within a field block.", "HEADERS of another stream within a field block (8.1)",
            "RFC 9113, 6.2 and 6.10: a large field block is sent in frames that follow each other"),
        Rule("8.1", "An interim response does not end the stream.", "an interim response ends the stream"),
        Rule(
            "8.1", "Trailers have no pseudo-header fields.",
            "RFC 9113, 8.1: trailers with a pseudo-header field are malformed",
            "RFC 9113, 8.1: a server sends one final response, and content only after it"),
        Rule(
            "8.1", "HEADERS without END_STREAM after the message is malformed.",
            "RFC 9113, 8.1: trailers without END_STREAM are malformed",
            "RFC 9113, 8.1: HEADERS after the final response without END_STREAM are malformed"),
        Rule(
            "8.1", "RST_STREAM with NO_ERROR does not discard the response.",
            "RFC 9113, 8.1: a reset with NO_ERROR after the response does not discard it"),
        Rule(
            "8.1.1", "A malformed message is a stream error.",
            "RFC 9113, 8.1.1: less content than content-length is malformed",
            "RFC 9113, 8.1.1: more content than content-length is malformed",
            "RFC 9113, 8.1.1: trailers before the whole content are malformed"),
        Rule("8.1.1", "A client does not accept a malformed response.", ":status is missing"),
        Rule("8.1.1", "An intermediary does not forward a malformed message.", because: noIntermediary),
        Rule("8.2", "Names are sent in lower case.", "RFC 9113, 8.2 and 8.3: a client does not send"),
        Rule(
            "8.2.1", "A name has no prohibited characters.", "a name has a capital letter (8.2)", "a name has a blank",
            "a name has a NUL", "a name has a DEL", "a name has a byte above 0x7f", "a name has a colon"),
        Rule(
            "8.2.1", "A value has no NUL, line feed or carriage return.", "a value has a NUL",
            "a value has a line feed",
            "a value has a carriage return"),
        Rule(
            "8.2.1", "A value does not begin or end with a blank.", "a value begins with a blank",
            "a value ends with a tab"),
        Rule(
            "8.2.1", "The service's gateway answers such a value instead of a stream error.",
            "RFC 9113, 8.2.1: blanks around values pass if the limits allow it"),
        Rule(
            "8.2.2", "A message has no connection-specific fields.", "connection", "proxy-connection", "keep-alive",
            "transfer-encoding", "upgrade"),
        Rule(
            "8.2.2", "te has no other value than trailers.", "te has another value than trailers",
            "RFC 9113, 8.2.2: te may be trailers"),
        Rule("8.2.2", "An intermediary removes connection-specific fields.", because: noIntermediary),
        Rule("8.2.3", "Cookie fields are joined before HTTP/1.1 or an application gets them.", because: application),
        Rule(
            "8.3", "No other pseudo-header fields than the defined ones.", "a pseudo-header field is unknown",
            "a request has :status", "a response has :path",
            "RFC 9113, 8.1: trailers with a pseudo-header field are malformed"),
        Rule(
            "8.3", "Pseudo-header fields come first.", "a pseudo-header field follows a regular field"),
        Rule("8.3", "No pseudo-header field comes twice.", ":method is repeated", ":status is repeated"),
        Rule("8.3.1", "With :authority, host does not name the target.", because: application),
        Rule("8.3.1", "A client names the authority in :authority.", because: application),
        Rule(
            "8.3.1", "A client does not send a host that differs from :authority.", "host differs from :authority",
            "RFC 9113, 8.3.1: host and authority are normalized before they are compared"),
        Rule("8.3.1", "An intermediary makes :authority and host from the request.", because: noIntermediary),
        Rule("8.3.1", ":authority has no userinfo.", ":authority has userinfo"),
        Rule(
            "8.3.1", ":path is not empty, and * belongs to OPTIONS.", ":path is empty", ":path is * without OPTIONS",
            "RFC 9113, 8.3.1: OPTIONS may have the path *"),
        Rule(
            "8.3.1", "A request has one :method, :scheme and :path.", ":method is missing", ":scheme is missing",
            ":path is missing"),
        Rule("8.3.2", "A response has :status.", ":status is missing", ":status is not a number of three digits"),
        Rule("8.4", "The rules for pushing and for pushed responses.", because: noPush),
        Rule("8.4", "A server treats PUSH_PROMISE as a connection error.", "a client pushes"),
        Rule("8.4.1", "The rules for promised requests.", because: noPush),
        Rule("8.4.2", "The rules for pushed responses.", because: noPush),
        Rule(
            "8.5", "CONNECT has no :scheme and :path.", "CONNECT has :scheme", "CONNECT has :path",
            "CONNECT has no :authority"),
        Rule(
            "8.5", "On a tunnel only DATA and stream management are sent and received.",
            "RFC 9113, 8.5: CONNECT has only method and authority, and its tunnel carries only DATA",
            "RFC 9113, 8.5: no HEADERS are sent on a tunnel"),
        Rule("8.5", "A proxy resets its TCP connection after an error.", because: noProxy),
        Rule("8.6", "There is no status 101.", ":status is 101"),
        Rule(
            "8.7", "A request that the application saw is not told to be unprocessed.",
            "RFC 9113, 8.7: GOAWAY of an error names every stream that the application saw",
            "RFC 9113, 5.1.2: a stream too many is refused with REFUSED_STREAM"),
    ]
}
