import HTTP2Core

// The entries of the HTTP/2 core.
extension FuzzEntry {
    /// Reads a connection's bytes. The result must not depend on how they are split, and the endpoint must not keep
    /// more than its limits say. The first byte has the role, and says how to split the rest.
    static func readHTTP2(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let stream = Array(bytes.dropFirst())
        let role: Role = first & 1 == 0 ? .server : .client
        let whole = HTTP2Reading(role, stream, length: max(1, stream.count))
        let parts = HTTP2Reading(role, stream, length: Int(first >> 1) + 1)
        precondition(whole.events == parts.events && whole.content == parts.content)
        precondition(whole.output == parts.output)
    }

    /// Reads field blocks, each with its length before it. What was decoded has to be the same after it was encoded and
    /// decoded again.
    static func readFieldBlocks(_ bytes: [UInt8]) {
        var endpoint = HTTP2Endpoint(role: .server)
        var position = 0
        var frames = HTTP2Reading.beginning
        var (offset, stream) = (0, UInt32(1))
        while offset < bytes.count, stream < 2_000 {
            let count = min(Int(bytes[offset]), bytes.count - offset - 1)
            let block = bytes[(offset + 1)..<(offset + 1 + count)]
            frames += [0, 0, UInt8(count), 1, 5, 0, 0, UInt8(stream >> 8), UInt8(stream & 0xff)] + block
            offset += 1 + count
            stream += 2
        }
        var client = HTTP2Endpoint(role: .client)
        var server = HTTP2Endpoint(role: .server)
        while let event = endpoint.next(frames.span, at: &position, now: 0) {
            guard case .request = event, (try? client.open(endpoint.fields, endStream: true)) != nil else { continue }
            var (read, requests) = (0, 0)
            while let event = server.next(client.output.span, at: &read, now: 0) {
                guard case .request(let stream, _) = event else { continue }
                requests += 1
                precondition(HTTP2Reading.text(server.fields) == HTTP2Reading.text(endpoint.fields))
                server.reset(stream, .cancel)
            }
            precondition(requests == 1)
            client.outputTaken()
            read = 0
            while client.next(server.output.span, at: &read, now: 0) != nil {}
            server.outputTaken()
        }
    }
}

/// What an endpoint says to bytes that come in parts.
private struct HTTP2Reading {
    static let beginning = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]

    /// The events without content.
    private(set) var events: [String] = []
    /// The content of all streams.
    private(set) var content: [UInt32: [UInt8]] = [:]
    private(set) var output: [UInt8] = []

    init(_ role: Role, _ bytes: [UInt8], length: Int) {
        var endpoint = HTTP2Endpoint(role: role)
        if role == .client {
            var list = FieldList()
            list.append(":method", "POST")
            list.append(":scheme", "https")
            list.append(":path", "/")
            for _ in 0..<3 { _ = try? endpoint.open(list, endStream: false) }
        } else {
            read([Self.beginning[...]], &endpoint)
        }
        let parts = stride(from: 0, to: bytes.count, by: length).map { bytes[$0..<min($0 + length, bytes.count)] }
        read(parts, &endpoint)
        output = endpoint.output
        precondition(endpoint.openStreams <= EndpointLimits().maxConcurrentStreams)
    }

    private mutating func read(_ parts: [ArraySlice<UInt8>], _ endpoint: inout HTTP2Endpoint) {
        for part in parts {
            let bytes = Array(part)
            var position = 0
            while let event = endpoint.next(bytes.span, at: &position, now: 0) {
                switch event {
                case .data(let stream, let range, let endStream):
                    content[stream.rawValue, default: []] += bytes[range]
                    if endStream { events.append("end \(stream)") }
                case .request, .response, .interimResponse, .trailers:
                    events.append("\(event) \(Self.text(endpoint.fields))")
                default:
                    events.append("\(event)")
                }
            }
            precondition(position == bytes.count)
        }
    }

    static func text(_ list: FieldList) -> [[UInt8]] {
        (0..<list.count).flatMap { [Array(list.bytes[list.name($0)]), Array(list.bytes[list.value($0)])] }
    }
}
