// SPDX-License-Identifier: Apache-2.0

import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.SyncCompletionSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncPromptSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncResourceSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncResourceTemplateSpecification;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.server.transport.StdioServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema.*;
import java.io.File;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** A small server with the Java SDK: Server [http PORT]. */
public class Server {
  static final ToolAnnotations READ_ONLY = ToolAnnotations.builder().readOnlyHint(true).build();

  static Map<String, Object> object(String type, String... names) {
    var properties = new java.util.LinkedHashMap<String, Object>();
    for (String name : names) properties.put(name, Map.of("type", type));
    return Map.of("type", "object", "properties", properties, "required", List.of(names));
  }

  static Tool tool(String name, String description, Map<String, Object> input) {
    return Tool.builder(name, input).description(description).annotations(READ_ONLY).build();
  }

  static CallToolResult text(Object value) {
    return CallToolResult.builder().addTextContent(String.valueOf(value)).build();
  }

  static CallToolResult slow(McpSyncServerExchange exchange, CallToolRequest request) {
    exchange.loggingNotification(LoggingMessageNotification.builder(LoggingLevel.INFO, "starting").build());
    for (int step = 1; step <= 3; step++) {
      try {
        Thread.sleep(100);
      } catch (InterruptedException e) {
        return CallToolResult.builder().addTextContent("interrupted").isError(true).build();
      }
      if (request.progressToken() != null) {
        exchange.progressNotification(new ProgressNotification(request.progressToken(), step, 3.0, null));
      }
    }
    return text("done");
  }

  static ReadResourceResult note(ReadResourceRequest request, String text) {
    return new ReadResourceResult(List.of(new TextResourceContents(request.uri(), "text/plain", text)));
  }

  static CompleteResult complete(McpSyncServerExchange exchange, CompleteRequest request) {
    List<String> found = Stream.of("tides", "timber", "winds")
        .filter(t -> t.startsWith(request.argument().value())).toList();
    return new CompleteResult(new CompleteResult.CompleteCompletion(found, found.size(), false));
  }

  static void furnish(McpServer.SyncSpecification<?> spec) {
    spec.serverInfo("java-sdk", "1.0.0")
        .capabilities(ServerCapabilities.builder().tools(true).resources(false, true).prompts(true)
            .completions().logging().build())
        .toolCall(tool("echo", "Repeat a text", object("string", "text")),
            (exchange, request) -> text(request.arguments().get("text")))
        .toolCall(tool("add", "Add two numbers", object("number", "a", "b")),
            (exchange, request) -> text(((Number) request.arguments().get("a")).doubleValue()
                + ((Number) request.arguments().get("b")).doubleValue()))
        .toolCall(tool("slow", "Take a third of a second, and say how far it is", object("string")), Server::slow)
        .toolCall(tool("broken", "Fail every time", object("string")), (exchange, request) ->
            CallToolResult.builder().addTextContent("this tool never works").isError(true).build())
        .resources(new SyncResourceSpecification(
            Resource.builder("notes://today", "today").mimeType("text/plain").build(),
            (exchange, request) -> note(request, "Water the plants.")))
        .resourceTemplates(new SyncResourceTemplateSpecification(
            ResourceTemplate.builder("notes://about/{topic}", "about").mimeType("text/plain").build(),
            (exchange, request) -> note(request, "Nothing is known about " + request.uri().substring(14) + ".")))
        .prompts(new SyncPromptSpecification(
            Prompt.builder("explain").description("Ask for an explanation of a topic")
                .arguments(List.of(new PromptArgument("topic", null, true))).build(),
            (exchange, request) -> new GetPromptResult(null, List.of(new PromptMessage(Role.USER,
                new TextContent("Explain " + request.arguments().get("topic") + " in three sentences."))))))
        .completions(new SyncCompletionSpecification(new PromptReference("explain"), Server::complete))
        .build();
  }

  public static void main(String[] args) throws Exception {
    if (args.length != 2 || !args[0].equals("http")) {
      furnish(McpServer.sync(new StdioServerTransportProvider(McpJsonDefaults.getMapper())));
      return;
    }
    var transport = HttpServletStreamableServerTransportProvider.builder().mcpEndpoint("/mcp").build();
    furnish(McpServer.sync(transport));
    Tomcat tomcat = new Tomcat();
    File base = Files.createTempDirectory("java-sdk").toFile();
    tomcat.setBaseDir(base.getPath());
    tomcat.setPort(Integer.parseInt(args[1]));
    tomcat.getConnector().setProperty("address", "127.0.0.1");
    Context context = tomcat.addContext("", base.getPath());
    var wrapper = Tomcat.addServlet(context, "mcp", transport);
    wrapper.setAsyncSupported(true);
    context.addServletMappingDecoded("/*", "mcp");
    tomcat.start();
    tomcat.getServer().await();
  }
}
