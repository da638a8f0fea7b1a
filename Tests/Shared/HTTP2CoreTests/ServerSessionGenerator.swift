import HTTP2Core

/// A request and its response, as a server sees them.
private struct Exchange {
    let stream: UInt32
    /// The client sends more content.
    var isSending: Bool
    let isHead: Bool
    /// The server's next frame is the response.
    var isWaiting = true
    /// The content of the response that the server has not sent.
    var rest = 0
}

// What happens on a client's side: its requests, and what a server sends.
extension SessionGenerator {
    /// A valid session.
    mutating func clientSession() -> [Step] {
        var steps: [Step] = [
            .frame(firstSettings()), .frame(Wire.settingsAck),
            .frame(Self.openedConnection),
        ]
        var exchanges: [Exchange] = []
        var isGoingAway = false
        steps.append(open(&exchanges))
        for _ in 0..<Int.random(in: 5...40, using: &random) {
            steps += step(&exchanges, &isGoingAway)
        }
        return steps
    }

    private mutating func step(_ exchanges: inout [Exchange], _ isGoingAway: inout Bool) -> [Step] {
        switch Int.random(in: 0..<12, using: &random) {
        case 0...1 where !isGoingAway: return [open(&exchanges)]
        case 2...6 where !exchanges.isEmpty: return answer(&exchanges).map { .frame($0) }
        case 7 where !exchanges.isEmpty:
            let index = Int.random(in: exchanges.indices, using: &random)
            guard exchanges[index].isSending else { break }
            let ends = chance(40)
            exchanges[index].isSending = !ends
            return [.send(Int.random(in: 1...50_000, using: &random), on: exchanges[index].stream, endStream: ends)]
        case 8 where !exchanges.isEmpty && chance(40):
            let stream = pick(exchanges).stream
            // What the server sends for a stream that the client has reset is ignored.
            if chance(50) { return [.reset(stream)] }
            exchanges.removeAll { $0.stream == stream }
            return [.frame(Wire.reset(stream, UInt32.random(in: 0...13, using: &random)))]
        case 9:
            let stream = UInt32.random(in: 0..<max(1, nextStream / 2), using: &random) * 2 + 1
            return [.frame(Wire.windowUpdate(stream, UInt32.random(in: 1...40_000, using: &random)))]
        case 10 where chance(30):
            let setting: (UInt16, UInt32) =
                chance(70) ? (4, UInt32.random(in: 0...100_000, using: &random)) : (5, pick([16_384, 30_000]))
            return [.frame(Wire.settings([setting]))]
        case 10 where chance(40):
            let unknown = UInt8.random(in: 0x20...0x80, using: &random)
            return [.frame(Wire.frame(unknown, 0, 0, bytes(9)))]
        case 11 where chance(15) && !isGoingAway:
            isGoingAway = true
            let last = chance(30) ? 0x7fff_ffff : UInt32.random(in: 0..<max(1, nextStream / 2), using: &random) * 2 + 1
            exchanges.removeAll { $0.stream > last }
            return [.frame(Wire.goAway(last, 0, debug: "bye"))]
        default: break
        }
        return [.frame(Wire.ping())]
    }

    private mutating func open(_ exchanges: inout [Exchange]) -> Step {
        let stream = nextStream
        nextStream += 2
        let method = pick(["GET", "POST", "POST", "HEAD"])
        let endStream = method != "POST" || chance(30)
        exchanges.append(Exchange(stream: stream, isSending: !endStream, isHead: method == "HEAD"))
        let path = "/3/device/" + String(decoding: bytes(Int.random(in: 0...64, using: &random)), as: UTF8.self)
        let fields = [(":method", method), (":scheme", "https"), (":path", path), (":authority", "a")]
        return .open(fields, endStream: endStream)
    }

    /// The server's next frame for one of the requests.
    private mutating func answer(_ exchanges: inout [Exchange]) -> [[UInt8]] {
        let index = Int.random(in: exchanges.indices, using: &random)
        let exchange = exchanges[index]
        if exchange.isWaiting, chance(15) {
            return block(
                fields([(":status", pick(["100", "103"])), ("link", "x")]), exchange.stream, endStream: false)
        }
        let ends: Bool
        let frames: [[UInt8]]
        if exchange.isWaiting {
            let content = exchange.isHead || chance(40) ? 0 : Int.random(in: 1...1_200, using: &random)
            ends = content == 0
            var list = [(":status", pick(["200", "400", "410", "503"])), ("apns-id", "1")]
            // The response to HEAD has the content-length that the one to GET would have.
            if chance(50) { list.append(("content-length", String(exchange.isHead ? 7 : content))) }
            (exchanges[index].isWaiting, exchanges[index].rest) = (false, content)
            frames = block(fields(list), exchange.stream, endStream: ends)
        } else if exchange.rest == 0 {
            ends = true
            frames = block(fields([("x-trailer", "a")]), exchange.stream, endStream: true)
        } else {
            let count = Int.random(in: 1...exchange.rest, using: &random)
            exchanges[index].rest -= count
            ends = count == exchange.rest && chance(70)
            frames = data(bytes(count), exchange.stream, ends)
        }
        if ends { exchanges.remove(at: index) }
        return frames
    }

    private mutating func fields(_ list: [(String, String)]) -> FieldList {
        var fields = FieldList()
        for (name, value) in list { fields.append(Array(name.utf8).span, Array(value.utf8).span, form()) }
        return fields
    }
}
