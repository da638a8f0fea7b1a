import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications
import Storage

// Notifications that are kept until a person releases them (docs/gateway.md).
extension UpstreamRoute {
    /// Keeps a notification. The client gets 200 and the header `carillon-captured`.
    static func capture(
        _ request: ProviderRequest,
        _ push: UpstreamPush,
        on stream: StreamID,
        of connection: ProviderConnection,
    ) {
        guard let forwarding = connection.api.forwarding, let captures = forwarding.captures else {
            return connection.refuse(
                request, on: stream,
                Rejection(.serviceUnavailable, detail: "Requests are captured in the development environment only."))
        }
        let pushed = push.makePush(
            of: request, id: request.identify(using: &connection.identifiers), by: forwarding.name)
        request.body = []
        let (place, number) = (push.upstream.place, request.scene?.number)
        let connection = NIOLoopBound(connection, eventLoop: connection.eventLoop)
        Task {
            let isKept: Bool
            do throws(StoreError) {
                try await captures.keep(pushed, of: place, number: number)
                isKept = true
            } catch {
                isKept = false
            }
            connection.eventLoop.execute { captured(stream, isKept: isKept, of: connection.value) }
        }
    }

    private static func captured(_ stream: StreamID, isKept: Bool, of connection: ProviderConnection) {
        guard let request = connection.requests[stream] else { return }
        guard isKept else {
            connection.record(.rejected(.serviceUnavailable), request)
            return connection.refuse(
                request, on: stream,
                Rejection(.serviceUnavailable, detail: "The request cannot be captured: no disk space."))
        }
        if let scene = request.scene {
            var answer = RequestAnswer(status: 200)
            answer.isCaptured = true
            guard scene.mayAnswer(answer, later: { captured(stream, isKept: true, of: connection) }) else { return }
        }
        request.isAnswered = true
        let id = request.identify(using: &connection.identifiers)
        connection.session?.respond(
            stream, connection.response.captured(id, isUnique: !request.omitsUniqueID), body: nil)
    }
}
