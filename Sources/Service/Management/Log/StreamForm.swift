import HTTPAPI
import HTTPTypes
import Hummingbird
import NIOCore

/// How the delivery log and the journal are written into an answer that may go on without end.
enum StreamForm: Sendable {
    /// `application/x-ndjson`: one entry on each line.
    case lines
    /// `text/event-stream`: one entry for each event, whose `id` is its position or its number.
    case events

    /// The form that the request's `Accept` header selects.
    init(_ request: Request) {
        self = request.headers[.accept]?.contains(Self.events.mediaType) == true ? .events : .lines
    }

    var mediaType: String {
        switch self {
        case .lines: MediaType.lines
        case .events: MediaType.events
        }
    }

    /// The comment that begins a stream of events: a browser does not report it as open before its first byte.
    static let open = ByteBuffer(string: ": open\n\n")
    /// The comment of an idle stream of events.
    static let keepAlive = ByteBuffer(string: ": keep-alive\n\n")

    func line(_ json: String, id: some CustomStringConvertible) -> String {
        switch self {
        case .lines: json + "\n"
        case .events: "id: \(id)\ndata: \(json)\n\n"
        }
    }

    /// Says how many entries a sample leaves out.
    func line(leftOut: Int) -> String {
        let json = #"{"leftOut":\#(leftOut)}"#
        return self == .events ? "data: \(json)\n\n" : json + "\n"
    }

    /// - Parameter permit: kept until the answer is complete.
    func answer(
        _ permit: StreamBudget.Permit?,
        _ write: @escaping @concurrent @Sendable (inout any ResponseBodyWriter) async throws -> Void,
    ) -> Response {
        Response(
            status: .ok, headers: [.contentType: mediaType],
            body: ResponseBody { writer in
                defer { withExtendedLifetime(permit) {} }
                try await write(&writer)
            })
    }
}

extension Task where Success == Never, Failure == any Error {
    /// Calls a function again and again, until the task is cancelled.
    static func pulse(every interval: Duration, _ call: @escaping @Sendable () -> Void) -> Task {
        Task {
            while true {
                try await Task<Never, Never>.sleep(for: interval)
                call()
            }
        }
    }
}
