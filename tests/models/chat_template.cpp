#include "chat_template.h"

namespace corral::test_models {

const char* const kChatTemplate = R"jinja({%- set rest = messages %}
{%- set instructions = '' %}
{%- if messages and messages[0].role == 'system' %}
    {%- set instructions = messages[0].content %}
    {%- set rest = messages[1:] %}
{%- endif %}
{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if instructions %}
        {{- instructions + '\n\n' }}
    {%- endif %}
    {{- 'These functions can be called, each described by a JSON schema:\n<tools>' }}
    {%- for tool in tools %}
        {{- '\n' + (tool | tojson) }}
    {%- endfor %}
    {{- '\n</tools>\n\nTo call one, write its name and its arguments as JSON between the tags:\n<tool_call>\n{"name": <name>, "arguments": <object>}\n</tool_call><|im_end|>\n' }}
{%- elif instructions %}
    {{- '<|im_start|>system\n' + instructions + '<|im_end|>\n' }}
{%- endif %}
{%- for message in rest %}
    {%- if message.role == 'tool' %}
        {%- if loop.first or rest[loop.index0 - 1].role != 'tool' %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\n<tool_response>\n' + message.content + '\n</tool_response>' }}
        {%- if loop.last or rest[loop.index0 + 1].role != 'tool' %}
            {{- '<|im_end|>\n' }}
        {%- endif %}
    {%- elif message.role == 'assistant' %}
        {{- '<|im_start|>assistant\n' }}
        {%- if message.content %}
            {{- message.content }}
        {%- endif %}
        {%- for call in message.tool_calls or [] %}
            {%- if message.content or not loop.first %}
                {{- '\n' }}
            {%- endif %}
            {%- set function = call.function if call.function else call %}
            {{- '<tool_call>\n{"name": "' + function.name + '", "arguments": ' }}
            {{- function.arguments if function.arguments is string else function.arguments | tojson }}
            {{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %})jinja";

}  // namespace corral::test_models
