import HTTPAPIClient

/// Sends requests to the management API of a service in this process.
struct ManagementCalls: Sendable {
    private let client: APIClient

    init(url: String, key: String) {
        client = APIClient(.url(url), key: key, sharesConnections: true) { failure in
            switch failure {
            case .refused(let status, let body):
                TestAPNsError(status == 408 ? .timedOut : .refused, String(decoding: body, as: UTF8.self))
            case .notReached(let error), .interrupted(let error):
                TestAPNsError(.refused, "The service does not answer: \(error)")
            case .notUnderstood(let error):
                TestAPNsError(.refused, "The service's answer cannot be read: \(error)")
            }
        }
    }

    /// Sends a request and returns the answer.
    /// - Throws: ``TestAPNsError/Code/refused`` with the service's explanation, or ``TestAPNsError/Code/timedOut``.
    func ask<Answer: Decodable>(
        _ method: String,
        _ path: String,
        _ message: (some Encodable & Sendable)? = Never?.none,
    ) async throws(TestAPNsError) -> Answer {
        do {
            return try await client.ask(HTTPMethod(rawValue: method), path, message)
        } catch {
            throw error as? TestAPNsError ?? TestAPNsError(.refused, "The request cannot be sent: \(error)")
        }
    }
}
