/// Whether a server is alive (`/health`) or ready (`/ready`). One that is not answers with a ``Problem``.
package struct ServerStatus: JSONMessage {
    /// One word, such as `ready`.
    package let status: String

    package static let form: JSONForm<ServerStatus> = .object(
        "Status", ServerStatus.init(_:), .required("status", .text(.any), \.status))

    package init(_ status: String) { self.status = status }
}
