// SPDX-License-Identifier: Apache-2.0

//! A small server with the Rust SDK: rust-rmcp [http PORT].

#![allow(deprecated)] // logging is deprecated, and served all the same

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use rmcp::{
    ErrorData, Json, RoleServer, ServerHandler, ServiceExt,
    handler::server::wrapper::Parameters,
    model::*,
    prompt, prompt_handler, prompt_router, schemars,
    service::RequestContext,
    tool, tool_handler, tool_router,
    transport::{
        stdio,
        streamable_http_server::{StreamableHttpService, session::local::LocalSessionManager},
    },
};
use serde::{Deserialize, Serialize};

#[derive(Deserialize, schemars::JsonSchema)]
struct Echo {
    text: String,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Add {
    a: f64,
    b: f64,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Sum {
    sum: f64,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Explain {
    topic: String,
}

#[derive(Clone)]
struct Notes {
    level: Arc<Mutex<LoggingLevel>>,
}

impl Notes {
    fn new() -> Self {
        Self { level: Arc::new(Mutex::new(LoggingLevel::Info)) }
    }
}

#[tool_router]
impl Notes {
    #[tool(description = "Repeat a text", annotations(read_only_hint = true))]
    fn echo(&self, Parameters(Echo { text }): Parameters<Echo>) -> String {
        text
    }

    #[tool(description = "Add two numbers", annotations(read_only_hint = true))]
    fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> Json<Sum> {
        Json(Sum { sum: a + b })
    }

    #[tool(
        description = "Take a third of a second, and say how far it is",
        annotations(read_only_hint = true)
    )]
    async fn slow(&self, context: RequestContext<RoleServer>) -> Result<String, ErrorData> {
        if matches!(*self.level.lock().unwrap(), LoggingLevel::Debug | LoggingLevel::Info) {
            let log = LoggingMessageNotificationParam::new(LoggingLevel::Info, "starting".into());
            let _ = context.peer.notify_logging_message(log).await;
        }
        for step in 1..=3 {
            tokio::select! {
                _ = tokio::time::sleep(Duration::from_millis(100)) => {}
                _ = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
            }
            if let Some(token) = context.meta.get_progress_token() {
                let progress = ProgressNotificationParam::new(token, step as f64).with_total(3.0);
                let _ = context.peer.notify_progress(progress).await;
            }
        }
        Ok("done".to_string())
    }

    #[tool(description = "Fail every time", annotations(read_only_hint = true))]
    fn broken(&self) -> Result<String, String> {
        Err("this tool never works".to_string())
    }
}

#[prompt_router]
impl Notes {
    #[prompt(description = "Ask for an explanation of a topic")]
    async fn explain(&self, Parameters(Explain { topic }): Parameters<Explain>) -> Vec<PromptMessage> {
        vec![PromptMessage::new_text(Role::User, format!("Explain {topic} in three sentences."))]
    }
}

#[tool_handler]
#[prompt_handler]
impl ServerHandler for Notes {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_completions()
            .enable_logging()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("rust-rmcp", "1.0.0"))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        *self.level.lock().unwrap() = request.level;
        Ok(())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let today = Resource::new("notes://today", "today").with_mime_type("text/plain");
        Ok(ListResourcesResult::with_all_items(vec![today]))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let about = ResourceTemplate::new("notes://about/{topic}", "about").with_mime_type("text/plain");
        Ok(ListResourceTemplatesResult::with_all_items(vec![about]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let text = match request.uri.strip_prefix("notes://") {
            Some("today") => "Water the plants.".to_string(),
            Some(path) if path.starts_with("about/") => format!("Nothing is known about {}.", &path[6..]),
            _ => return Err(ErrorData::resource_not_found("no such note", None)),
        };
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, request.uri)]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let found = ["tides", "timber", "winds"]
            .into_iter()
            .filter(|t| t.starts_with(&request.argument.value))
            .map(String::from)
            .collect();
        let values = CompletionInfo::new(found).map_err(|e| ErrorData::internal_error(e, None))?;
        Ok(CompleteResult::new(values))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    if args.len() == 3 && args[1] == "http" {
        let service = StreamableHttpService::new(
            || Ok(Notes::new()),
            LocalSessionManager::default().into(),
            Default::default(),
        );
        let router = axum::Router::new().nest_service("/mcp", service);
        let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{}", args[2])).await?;
        axum::serve(listener, router).await?;
        return Ok(());
    }
    Notes::new().serve(stdio()).await?.waiting().await?;
    Ok(())
}
