import Connections
import HTTPAPI
import HTTPTypes
import Hummingbird
import NIOCore

// Phones make their handles and endpoints on this port too: it is the one that the internet reaches.
extension WebPushAPI {
    func ask(_ handles: any HandleAsking, _ request: Request, _ client: SocketAddress?) async -> Response {
        let body: [UInt8]?
        do throws(Problem) {
            body = try await request.bytes(upTo: handles.maximumBodyBytes)
        } catch {
            guard error.status == 413 else { return WebPushAnswer.problem(error) }
            body = nil
        }
        return WebPushAnswer.response(
            await handles.answer(
                method: request.method.rawValue, path: request.head.path ?? "",
                authorization: request.headers[.authorization], body: body, from: client?.host ?? ""))
    }
}
