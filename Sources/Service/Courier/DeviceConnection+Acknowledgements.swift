import Delivery
import HTTP2
import Notifications

// Acknowledgements: one in a request, or several in a request whose body continues for as long as the device
// listens. Each counts when its closing brace has arrived, so that a device does not need a request and an answer
// for each.
extension DeviceConnection {
    private static let end = UInt8(ascii: "}")

    /// Begins such a request. Its body may have any length.
    func beginAcknowledgements(_ stream: StreamID) {
        do throws(Rejection) {
            _ = try authorizedDevice()
            acknowledging = stream
            session?.allowEndlessBody(stream)
        } catch {
            reject(stream, error)
        }
    }

    /// Takes the complete acknowledgements and keeps the rest.
    func acknowledge(_ bytes: Span<UInt8>, on stream: StreamID) {
        guard let device = deviceKey, let index = requests.index(of: stream) else { return }
        do throws(Rejection) {
            var rest = bytes
            while let end = rest.firstIndex(of: Self.end) {
                let text = rest.extracting(first: end + 1)
                rest = rest.extracting(droppingFirst: end + 1)
                try checkLength(requests[index].body.count + text.count)
                if requests[index].body.isEmpty {
                    try acknowledge(text, as: device)
                } else {
                    var whole: [UInt8] = []
                    swap(&whole, &requests[index].body)
                    whole.append(text)
                    try acknowledge(whole.span, as: device)
                }
                requests[index].hasAcknowledged = true
            }
            // White space between two acknowledgements belongs to neither.
            if requests[index].body.isEmpty {
                rest = rest.extracting(droppingFirst: AcknowledgementReader.endOfSpace(rest))
            }
            try checkLength(requests[index].body.count + rest.count)
            requests[index].body.append(rest)
        } catch {
            reject(stream, error)
        }
    }

    private func checkLength(_ bytes: Int) throws(Rejection) {
        guard bytes <= courier.limits.bodyBytes else {
            let detail = "An acknowledgement is longer than \(courier.limits.bodyBytes) bytes."
            throw Rejection(.payloadTooLarge, detail: detail)
        }
    }

    /// Ends the request. Only white space may be left.
    func endAcknowledgements(_ request: DeviceRequest, on stream: StreamID) throws(Rejection) {
        let isBlank = AcknowledgementReader.endOfSpace(request.body.span) == request.body.count
        guard isBlank, request.hasAcknowledged else { throw .badAcknowledgement }
        respond(stream, DeviceAnswer(status: 204))
    }

    private func acknowledge(_ text: Span<UInt8>, as device: DeviceKey) throws(Rejection) {
        guard let attempts = AcknowledgementReader.read(text) else { throw .badAcknowledgement }
        guard attempts.contains(where: BroadcastMessage.has) else {
            return courier.switchboard.acknowledge(attempts, by: device)
        }
        courier.broadcasts.acknowledge(attempts.filter(BroadcastMessage.has), by: device)
        let others = attempts.filter { !BroadcastMessage.has($0) }
        if !others.isEmpty { courier.switchboard.acknowledge(others, by: device) }
    }
}

extension Rejection {
    fileprivate static let badAcknowledgement = Rejection(
        .payloadEmpty, detail: #"An acknowledgement must be {"sendings":[…]} with whole numbers."#)
}
