/// What each of the service's metrics is, for `# HELP`. docs/metrics.md says more.
enum MetricHelp {
    static let texts = [
        "carillon_notification_events_total": "Events of the delivery log.",
        "carillon_rejections_total": "Rejected requests, by reason.",
        "carillon_limits_exceeded_total": "How often a limit was exceeded.",
        "carillon_malformed_requests_total": "Requests that broke a rule of HTTP, by the listener that they came to.",
        "carillon_broadcast_deliveries_total": "Connected devices that broadcasts were sent to.",
        "carillon_delivery_log_lost_total": "Events that the delivery log does not have.",
        "carillon_accepted_to_stored_seconds": "Time from accepting a notification until it is on disk.",
        "carillon_sent_to_acknowledged_seconds":
            "Time from handing a notification to a device's connection until the device acknowledges it.",
        "carillon_forwarded_total": "Notifications that were forwarded to the app's upstream.",
        "carillon_upstream_answers_total": "Answers of the app's upstream.",
        "carillon_upstream_seconds": "Time from forwarding a notification until the upstream's answer.",
        "carillon_upstream_connections": "Connections to the upstream's host, also those that are being opened.",
        "carillon_upstream_credentials_refused":
            "Whether the app's upstream refuses the gateway's own key or certificate (1) or not (0).",
        "carillon_upstream_tokens_made_total": "Provider tokens that were made for upstreams.",
        "carillon_grant_answers_total": "Answers to the requests of a grant, by their outcome.",
        "carillon_grant_forwarded_total": "Notifications of a grant that were forwarded and answered.",
        "carillon_grant_upstream_seconds_total": "Time from forwarding the notifications of a grant until the answers.",
        "carillon_connected_devices": "Devices with an open stream of notifications.",
        "carillon_pending_stores": "Notifications that wait for the disk.",
        "carillon_resident_memory_bytes": "Memory that the process has in use; 0 if the system does not say it.",
        "carillon_lease_remaining_seconds": "Time until the node's lease runs out if it is not renewed.",
        "carillon_leases_lost_total": "How often the node has tried to take a new lease because its lease had run out.",
        "carillon_store_connections": "Connections to PostgreSQL, by their state.",
        "carillon_store_waiting": "Transactions that wait for a connection to PostgreSQL.",
        "carillon_store_longest_wait_seconds":
            "For how long a connection to PostgreSQL has been waiting for the same answers; the longest of all.",
        "carillon_peers": "Other nodes that run, by the state of the connection to them.",
    ]
}
