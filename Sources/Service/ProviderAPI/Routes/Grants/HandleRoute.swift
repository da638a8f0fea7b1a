import Connections
import Delivery
import HTTP2
import NIOCore
import Notifications

/// Carries out requests about handles and grants on the provider API's port. They are no notifications: the delivery log and the
/// journal have none of them.
enum HandleRoute {
    /// Carries out a request whose body has ended.
    static func ended(
        _ request: ProviderRequest,
        _ handleRequest: HandleRequest,
        on stream: StreamID,
        of connection: ProviderConnection,
    ) {
        do throws(Rejection) {
            guard let handles = connection.api.handles else { throw Rejection(.badPath) }
            let work = try handles.work(handleRequest, body: request.body, from: connection.peer)
            request.isHandled = true
            request.body = []
            run(work, on: stream, of: connection)
        } catch {
            refuse(request, on: stream, error, of: connection)
        }
    }

    private static func run(
        _ work: @escaping HandleRequests.Work, on stream: StreamID, of connection: ProviderConnection
    ) {
        let connection = NIOLoopBound(connection, eventLoop: connection.eventLoop)
        Task {
            let given = await work()
            connection.eventLoop.execute {
                let connection = connection.value
                guard let request = connection.requests[stream] else { return }
                answer(request, on: stream, given, of: connection)
            }
        }
    }

    private static func answer(
        _ request: ProviderRequest,
        on stream: StreamID,
        _ answer: HandleAnswer,
        of connection: ProviderConnection,
    ) {
        guard !request.isAnswered else { return }
        if answer.status == 200 { request.isAnswered = true } else { connection.markAnswered(request) }
        var headers = FieldList()
        headers.append(":status", String(answer.status))
        if answer.json != nil { headers.append("content-type", "application/json") }
        if let seconds = answer.retryAfter { headers.append("retry-after", String(seconds)) }
        let body = request.isHead ? nil : answer.json.map { ByteBuffer(string: $0) }
        connection.session?.respond(stream, headers, body: body)
    }

    /// Refuses a request.
    static func refuse(
        _ request: ProviderRequest,
        on stream: StreamID,
        _ rejection: Rejection,
        of connection: ProviderConnection,
    ) {
        answer(request, on: stream, HandleAnswer(rejection), of: connection)
    }
}
